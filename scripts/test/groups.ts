import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../package/bundle.ts'
import { fastFiles } from './fast-files.ts'

/** Test files that run in one process. */
export interface Group {
  /** Also the name of the bundle. */
  readonly name: string
  readonly files: readonly string[]
}

/**
 * Loading the sources takes longer than most tests, and they run faster once compiled. More files in a process would
 * leave one core idle at the end.
 */
const MAX_FILES = { fast: 8, starting: 10 }

/** What concerns the whole process: a test file with one of these has a process of its own. */
const processWide: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['changes the environment', /process\.env(?:\[[^\]]+\]|\.\w+) *(?:\?\?|\|\|)?=(?!=)|delete process\.env/],
  ['changes the working folder', /process\.chdir\(/],
  ['listens for signals or uncaught errors', /process\.(?:on|once)\(/],
  ['replaces timers or functions of Node', /\bmock\.(?:timers|method|module)/],
  ['measures the memory of the process', /memoryUsage|\bgc\b/],
]

/** Why a test file has a process of its own; undefined for one that shares it. */
function whyAlone(text: string): string | undefined {
  return processWide.find(([, pattern]) => pattern.test(text))?.[0]
}

/** The folder under test; files directly in test are a folder too. */
const areaOf = (file: string): string => file.split('/').slice(1, -1)[0] ?? 'project'

export const readSource = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The folders of the longest groups, of which the last begins first: begun at the end, they would leave one core idle. */
const LONGEST: readonly string[] = ['ui', 'server', 'e2e', 'package', 'cluster']
/** -1 for the others. */
const placeOf = (file: string): number => LONGEST.indexOf(areaOf(file))

/** Divides test files into groups of one folder, in the order of the files; those that take long come first. */
export function groupFiles(files: readonly string[], read = readSource): Group[] {
  const isFast = new Set(fastFiles(files, read))
  const starting = files.filter(file => !isFast.has(file)).toSorted((a, b) => placeOf(b) - placeOf(a))
  return [
    ...divided(starting, { read, maxFiles: MAX_FILES.starting, suffix: '-programs' }),
    ...divided([...isFast], { read, maxFiles: MAX_FILES.fast, suffix: '' }),
  ]
}

interface Division {
  readonly read: (file: string) => string
  readonly maxFiles: number
  /** Of the names of groups. */
  readonly suffix: string
}

function divided(files: readonly string[], { read, maxFiles, suffix }: Division): Group[] {
  const { single = [], shared = [] } = Object.groupBy(files, file =>
    whyAlone(read(file)) === undefined ? 'shared' : 'single',
  )
  return [...single.map(alone), ...inGroups(shared, maxFiles, area => area + suffix)]
}

const alone = (file: string): Group => ({
  name: file.slice('test/'.length).replace(/\.test\.ts$/, ''),
  files: [file],
})

function inGroups(files: readonly string[], maxFiles: number, nameOf: (area: string) => string): Group[] {
  return Object.entries(Object.groupBy(files, areaOf)).flatMap(([area, members = []]) => {
    const count = Math.ceil(members.length / maxFiles)
    return Array.from({ length: count }, (_, at) => ({
      name: `${nameOf(area)}-${at + 1}`,
      files: members.filter((_file, index) => Math.floor((index * count) / members.length) === at),
    }))
  })
}

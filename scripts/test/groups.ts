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
const MAX_FILES = { fast: 8, starting: 4 }

/** The folders whose files that start programs share processes too: all of them were seen to pass together. */
const sharing: ReadonlySet<string> = new Set(['api'])

/** What concerns the whole process: a test file with one of these has a process of its own. */
const processWide: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['changes the environment', /process\.env(?:\[[^\]]+\]|\.\w+) *(?:\?\?|\|\|)?=(?!=)|delete process\.env/],
  ['changes the working folder', /process\.chdir\(/],
  ['listens for signals or uncaught errors', /process\.(?:on|once)\(/],
  ['replaces timers or functions of Node', /\bmock\.(?:timers|method|module)/],
  ['measures the memory of the process', /memoryUsage|\bgc\b/],
]

/** Why a test file has a process of its own; undefined for one that shares it. */
export function whyAlone(text: string): string | undefined {
  return processWide.find(([, pattern]) => pattern.test(text))?.[0]
}

/** The folder under test; files directly in test are a folder too. */
const areaOf = (file: string): string => file.split('/').slice(1, -1)[0] ?? 'project'

export const readSource = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Divides test files into groups of one folder, in the order of the files; those that take long come first. */
export function groupFiles(files: readonly string[], read = readSource): Group[] {
  const isAlone = (file: string): boolean => whyAlone(read(file)) !== undefined
  const fast = new Set(fastFiles(files, read))
  const starting = files.filter(file => !fast.has(file))
  const shares = (file: string): boolean => sharing.has(areaOf(file)) && !isAlone(file)
  return [
    ...starting.filter(file => !shares(file)).map(alone),
    ...inGroups(starting.filter(shares), MAX_FILES.starting, area => `${area}-programs`),
    ...[...fast].filter(isAlone).map(alone),
    ...inGroups(
      [...fast].filter(file => !isAlone(file)),
      MAX_FILES.fast,
      area => area,
    ),
  ]
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

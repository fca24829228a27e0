import { readFileSync } from 'node:fs'
import type { EventData, TestsStream } from 'node:test'
import type { Group } from './groups.ts'

/** The ticks of /proc/self/stat in a second, the same on every Linux. */
const TICKS = 100
const SHOWN = 40

/** Counts what the tests of each file take and how many run: a file without tests would pass unseen. */
export class Tally {
  tests = 0
  success = false
  /** Tests that were declared too late for their file: those with the hooks of a suite would run without them. */
  readonly strays: string[] = []
  readonly #files = new Map<string, { ran: number; ms: number }>()
  /** The file of each test that has started, by the process and the number of the test. */
  readonly #fileOf = new Map<string, string>()

  constructor(files: readonly string[]) {
    for (const file of files) this.#files.set(file, { ran: 0, ms: 0 })
  }

  follow(stream: TestsStream): void {
    stream.on('test:start', started => {
      const file = started.nesting === 0 ? started.name : this.#fileOf.get(key(started, started.parentId))
      if (file !== undefined) this.#fileOf.set(key(started, started.testId), file)
    })
    stream.on('test:pass', ended => {
      this.#count(ended)
      if (ended.nesting === 0 && !this.#files.has(ended.name)) this.strays.push(ended.name)
    })
    stream.on('test:fail', ended => this.#count(ended))
    stream.on('test:summary', summary => {
      // Each process has a summary too, which names its file.
      if (summary.file === undefined) this.success = summary.success
    })
  }

  #count(ended: EventData.TestPass | EventData.TestFail): void {
    const file = this.#files.get(this.#fileOf.get(key(ended, ended.testId)) ?? '')
    if (!file) return
    if (ended.nesting === 0) file.ms = ended.details.duration_ms
    else if (ended.details.type !== 'suite') {
      this.tests += 1
      if (ended.skip !== true) file.ran += 1
    } else if (typeof ended.skip === 'string') file.ran += 1
  }

  /** The files of which no test ran, or was skipped with a reason. */
  get empty(): string[] {
    return [...this.#files].flatMap(([file, { ran }]) => (ran === 0 ? [file] : []))
  }

  /** The longest files, and the processor time of the groups. */
  report(groups: readonly Group[], bundles: readonly string[]): string {
    const files = [...this.#files].toSorted(([, a], [, b]) => b.ms - a.ms).slice(0, SHOWN)
    const used = groups.map(({ name }, at) => ({ name, seconds: cpuSeconds(bundles[at] ?? '') }))
    const total = used.reduce((sum, { seconds }) => sum + seconds, 0)
    return [
      'seconds of each file:',
      ...files.map(([file, { ms }]) => row(ms / 1000, file)),
      'processor seconds of each process and its children:',
      ...used.toSorted((a, b) => b.seconds - a.seconds).map(({ name, seconds }) => row(seconds, name)),
      `${this.tests} tests in ${this.#files.size} files and ${groups.length} processes, ${total.toFixed(0)} processor seconds`,
    ].join('\n')
  }
}

const key = ({ entryFile = '' }: EventData.LocationInfo, id: number | undefined): string =>
  `${id} ${entryFile}`
const row = (seconds: number, name: string): string => `${seconds.toFixed(1).padStart(8)}  ${name}`

/** What a bundle and the processes that it started took, as scripts/test/report-usage.ts has written it. */
function cpuSeconds(bundle: string): number {
  try {
    // The name of the program may contain spaces; the figures follow its parenthesis.
    const [, figures = ''] = readFileSync(`${bundle}.stat`, 'utf8').split(') ')
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = figures.split(' ').slice(11).map(Number)
    return (user + system + childUser + childSystem) / TICKS
  } catch {
    return 0
  }
}

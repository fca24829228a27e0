import type { Log } from '#base/log.ts'
import type { Registry } from '#base/metrics.ts'

/** The tasks that run without a caller, as the metric names them. */
const backgroundTasks = [
  'acme',
  'agents',
  'captures',
  'changes',
  'configuration',
  'directory',
  'domain_watch',
  'events',
  'expiry',
  'listeners',
  'nodes',
  'peers',
  'ports',
  'prune',
  'reload',
  'replays',
  'restart',
  'sign_in',
  'ssh',
  'streams',
  'tls',
  'tracing',
  'traffic',
  'usage',
  'workers',
] as const
type BackgroundTask = (typeof backgroundTasks)[number]

export interface Background {
  readonly task: BackgroundTask
  readonly log: Log
  /** Log message of a failure. */
  readonly failed?: string
  /** Additional fields of that log line. */
  readonly about?: Readonly<Record<string, unknown>>
}

/** The failures of a task since the start of this process. */
export interface TaskFailures {
  readonly task: BackgroundTask
  readonly count: number
  readonly lastMessage: string
  /** Of the last error. Not its text, which may contain a secret. */
  readonly lastCode: string | null
  readonly lastAt: number
}

/** By task. */
const failures = new Map<BackgroundTask, TaskFailures>()

/** Logs and counts the failure of a task; the process continues. */
export function backgroundFailure(
  { task, log, failed = 'a background task failed', about = {} }: Background,
  error: unknown,
): void {
  failures.set(task, {
    task,
    count: (failures.get(task)?.count ?? 0) + 1,
    lastMessage: failed,
    lastCode: codeOf(error),
    lastAt: Date.now(),
  })
  log.error({ error, task, ...about }, failed)
}

function codeOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : null
}

/** The tasks of this process that have failed. */
export const failedTasks = (): TaskFailures[] => [...failures.values()]

/**
 * Runs work that no caller awaits. A failure is logged and counted, because an unhandled rejection would crash the
 * process. The promise never rejects.
 */
export async function inBackground(background: Background, work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    backgroundFailure(background, error)
  }
}

/** The same for synchronous work: a listener or timer that throws affects neither its caller nor other listeners. */
export function guarded(background: Background, work: () => void): void {
  try {
    work()
  } catch (error) {
    backgroundFailure(background, error)
  }
}

/** Exports the failures of this process; all tasks from the start, so that the first failure shows as an increase. */
export function watchBackground(registry: Registry): void {
  const family = registry.counters(
    'adit_background_errors_total',
    'Background tasks that failed, by task; the server continues.',
    ['task'],
  )
  for (const task of backgroundTasks) family.with(task).from(() => failures.get(task)?.count ?? 0)
}

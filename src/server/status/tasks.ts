import type { TaskFailures } from '#base/background.ts'
import { timestamp } from '#base/ids.ts'
import type { ProcessReport } from '#cluster/process-status.ts'
import type { ServerStatus, StatusProblem } from '#contract/status.ts'

type FailedTask = ServerStatus['background'][number]

/** Failed background tasks of all processes, the last failure first. */
export function failedTasksOf(reports: readonly ProcessReport[]): FailedTask[] {
  // The first process is also a gateway process if it is the only one.
  const processes = new Map(reports.map(report => [report.processId, report]))
  const byTask = Map.groupBy(
    [...processes.values()].flatMap(({ failures }) => failures),
    ({ task }) => task,
  )
  return [...byTask.values()].map(joined).toSorted((one, other) => (one.last_at < other.last_at ? 1 : -1))
}

function joined(failures: readonly TaskFailures[]): FailedTask {
  const last = failures.reduce((one, other) => (one.lastAt < other.lastAt ? other : one))
  return {
    task: last.task,
    failures: failures.reduce((sum, { count }) => sum + count, 0),
    last_message: last.lastMessage,
    last_error: last.lastCode,
    last_at: timestamp(last.lastAt),
  }
}

export const taskProblems = (tasks: readonly FailedTask[]): StatusProblem[] =>
  tasks.map(({ task, failures, last_message: message, last_error: code, last_at: at }) => ({
    area: 'background',
    level: 'attention',
    name: task,
    resource_id: null,
    message: `${failures} ${failures === 1 ? 'failure' : 'failures'}, the last at ${at}: ${message}${code === null ? '' : ` (${code})`}. See the server log.`,
  }))

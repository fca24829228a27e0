import { failedTasks, type TaskFailures } from '#base/background.ts'
import { openFiles } from '#base/process-metrics.ts'
import type { Channel } from '#cluster/channel.ts'
import { inTime } from '#base/in-time.ts'

/** A process of the server, for people. Plain data, so that a worker can send it. */
export interface ProcessReport {
  readonly processId: number
  readonly startedAt: number
  readonly files: ReturnType<typeof openFiles>
  readonly failures: readonly TaskFailures[]
}

/** A gateway process. Without a report it has exited, or does not respond. */
export interface NodeStatus {
  readonly node: string
  readonly state: 'running' | 'unresponsive' | 'stopped'
  readonly report: ProcessReport | undefined
}

export const processReport = (): ProcessReport => ({
  processId: process.pid,
  startedAt: Date.now() - process.uptime() * 1000,
  files: openFiles(),
  failures: failedTasks(),
})

/** The status of a worker; `channel` is undefined if it does not run. */
export async function nodeStatus(node: string, channel: Channel | undefined): Promise<NodeStatus> {
  if (channel === undefined) return { node, state: 'stopped', report: undefined }
  const report = await inTime(channel.request<ProcessReport>('processReport', null))
  return { node, state: report === undefined ? 'unresponsive' : 'running', report }
}

import { setTimeout as wait } from 'node:timers/promises'
import { failedTasks, type TaskFailures } from '#base/background.ts'
import { openFiles } from '#base/process-metrics.ts'
import type { Channel } from '#cluster/channel.ts'

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

/** A worker that takes longer to describe itself hangs. */
const REPORT_MS = 2000

/** The status of a worker; `channel` is undefined if it does not run. */
export async function nodeStatus(node: string, channel: Channel | undefined): Promise<NodeStatus> {
  const asked = channel?.request<ProcessReport>('processReport', null).catch(() => undefined)
  const done = new AbortController()
  const late = wait(REPORT_MS, 'late' as const, { ref: false, signal: done.signal }).catch(() => undefined)
  const report = await Promise.race([asked, late])
  done.abort()
  if (report === 'late') return { node, state: 'unresponsive', report: undefined }
  return { node, state: report === undefined ? 'stopped' : 'running', report }
}

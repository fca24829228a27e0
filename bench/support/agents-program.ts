import { startHeartbeat } from '#tunnel/heartbeat.ts'
import { signIn } from './agent-session.ts'
import { answerJobs } from './answer-jobs.ts'

/** Agents that sign in and then idle. */
export interface AgentsJob {
  readonly port: number
  readonly authtoken: string
  readonly count: number
}

export interface AgentsAnswer {
  readonly open: number
}

const AT_ONCE = 25
let open = 0

async function keepOnline({ port, authtoken }: AgentsJob): Promise<void> {
  const session = await signIn(port, authtoken)
  startHeartbeat(session)
  open++
  void session.closed.then(() => open--)
}

answerJobs(async (job: AgentsJob) => {
  for (let left = job.count; left > 0; left -= AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => keepOnline(job)))
  return { open }
})

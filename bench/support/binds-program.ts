import { BindingAgent } from './binding-agent.ts'
import { answerJobs } from './answer-jobs.ts'

/** Agents at these ports in turn, each with so many tunnels. */
export interface BindsJob {
  readonly ports: readonly number[]
  readonly authtoken: string
  readonly agents: number
  readonly each: number
}

export interface BindsAnswer {
  readonly perSecond: number
}

/** Binds of one agent at a time: as many as an agent with a long configuration sends. */
const AT_ONCE = 16
let round = 0

/** Binds all, and measures that; the tunnels are gone when this resolves. */
async function binds({ ports, authtoken, agents, each }: BindsJob): Promise<BindsAnswer> {
  const signedIn: BindingAgent[] = []
  for (let at = 0; at < agents; at++)
    signedIn.push(await BindingAgent.signIn(ports[at % ports.length] ?? 0, authtoken))
  round++
  const begun = performance.now()
  const bound = await Promise.all(
    signedIn.map(async (agent, number) => {
      const names = Array.from(
        { length: each },
        (_, at) => `b${round}-${number}-${at}.adit.localhost`,
      ).values()
      const ids: string[] = []
      const work = async (): Promise<void> => {
        for (const name of names) ids.push(await agent.bind(name))
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      return ids
    }),
  )
  const seconds = (performance.now() - begun) / 1000
  await Promise.all(
    signedIn.map(async (agent, at) => {
      await Promise.all((bound[at] ?? []).map(id => agent.unbind(id)))
      agent[Symbol.dispose]()
    }),
  )
  return { perSecond: (agents * each) / seconds }
}

answerJobs(binds)

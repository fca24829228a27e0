import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** The half of a tunnel that clients connect to. */
export interface ServerJob {
  readonly role: 'server'
  readonly cert: string
  readonly key: string
}

/** The half beside the services. */
export interface AgentJob {
  readonly role: 'agent'
  readonly link: number
  readonly http: number
  readonly tcp: number
}

export type RelayJob = ServerJob | AgentJob

/** Listens on loopback; resolves to the port. */
export async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

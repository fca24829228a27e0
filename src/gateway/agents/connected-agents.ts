import type { ConnectedAgent } from '#gateway/agents/connected-agent.ts'

/** The agents connected to this process, by session and by credential. */
export class ConnectedAgents implements Iterable<ConnectedAgent> {
  readonly #bySession = new Map<string, ConnectedAgent>()
  readonly #byCredential = new Map<string, Set<ConnectedAgent>>()

  get size(): number {
    return this.#bySession.size
  }

  get(sessionId: string): ConnectedAgent | undefined {
    return this.#bySession.get(sessionId)
  }

  add(agent: ConnectedAgent): void {
    const { id, credentialId } = agent.record
    this.#bySession.set(id, agent)
    const siblings = this.#byCredential.get(credentialId) ?? new Set()
    this.#byCredential.set(credentialId, siblings.add(agent))
  }

  delete(agent: ConnectedAgent): void {
    const { id, credentialId } = agent.record
    this.#bySession.delete(id)
    const siblings = this.#byCredential.get(credentialId)
    siblings?.delete(agent)
    if (siblings?.size === 0) this.#byCredential.delete(credentialId)
  }

  /** The agents of each credential in use. */
  byCredential(): Iterable<readonly [string, Iterable<ConnectedAgent>]> {
    return this.#byCredential
  }

  ofCredential(credentialId: string): Iterable<ConnectedAgent> {
    return this.#byCredential.get(credentialId) ?? []
  }

  [Symbol.iterator](): Iterator<ConnectedAgent> {
    return this.#bySession.values()
  }
}

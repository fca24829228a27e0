import { inBackground } from '#base/background.ts'
import { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { owners } from '#contract/targets.ts'
import { mayBind } from '#gateway/agents/acl.ts'
import type { ConnectedAgent } from '#gateway/agents/connected-agent.ts'
import type { ConnectedAgents } from '#gateway/agents/connected-agents.ts'
import { credentialKinds } from '#registry/records/credentials.ts'
import type { RecordChange, Records } from '#registry/records/records.ts'

interface AgentAccessOptions {
  readonly agents: ConnectedAgents
  readonly records: Records
  readonly log: Log
  readonly evict: (sessionId: string, reason: string) => Promise<void>
  readonly unbind: (sessionId: string, tunnelId: string) => Promise<void>
}

/** Ends sessions and tunnels that their credential, its owner or the IP restrictions no longer permit. */
export class AgentAccess {
  readonly #options: AgentAccessOptions
  readonly #stopWatching: (() => void)[]
  #recheck: NodeJS.Immediate | undefined

  constructor(options: AgentAccessOptions) {
    this.#options = options
    const { records } = options
    this.#stopWatching = [
      records.onChange(credentialKinds, change => this.#credentialChanged(change)),
      records.onChange(owners.kinds, () => this.#evictInactive()),
      records.onChange(['ip_restriction', 'ip_policy_rule'], () => this.#recheckAddresses()),
    ]
  }

  close(): void {
    for (const stop of this.#stopWatching) stop()
    clearImmediate(this.#recheck)
  }

  #credentialChanged({ id, after }: RecordChange): void {
    for (const agent of this.#options.agents.ofCredential(id)) {
      if (after === undefined) this.#evict(agent, 'The credential was deleted.')
      else this.#dropForbidden(agent)
    }
    // A certificate authority can change its owner.
    this.#evictInactive()
  }

  #evictInactive(): void {
    const { agents, records } = this.#options
    const { message } = new Problem('agent_owner_inactive', {})
    for (const [credentialId, siblings] of agents.byCredential()) {
      if (records.credential(credentialId)?.active !== false) continue
      for (const agent of siblings) this.#evict(agent, message)
    }
  }

  #dropForbidden(agent: ConnectedAgent): void {
    const { records, unbind } = this.#options
    const acl = records.credential(agent.record.credentialId)?.acl ?? []
    for (const { record } of agent.tunnels.values()) {
      if (mayBind(acl, record.address, record.labels)) continue
      const problem = new Problem('acl_refused', { address: record.url, allowed: acl.join(', ') })
      agent.connection.stopTunnel?.(record.id, problem)
      this.#run(() => unbind(agent.record.id, record.id))
    }
  }

  /** Rules change in batches; the sessions are checked once for all of them. */
  #recheckAddresses(): void {
    this.#recheck ??= setImmediate(() => {
      this.#recheck = undefined
      this.#run(() => this.#evictRefused())
    })
  }

  #evictRefused(): void {
    const restriction = this.#options.records.restriction('agent')
    if (restriction?.enforced !== true) return
    for (const agent of this.#options.agents) {
      const { ip } = agent.record
      if (!restriction.allows(ip)) this.#evict(agent, new Problem('agent_address_refused', { ip }).message)
    }
  }

  #evict({ record }: ConnectedAgent, reason: string): void {
    this.#run(() => this.#options.evict(record.id, reason))
  }

  #run(work: () => unknown): void {
    void inBackground({ task: 'agents', log: this.#options.log }, work)
  }
}

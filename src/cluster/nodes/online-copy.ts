import { isDeepStrictEqual } from 'node:util'
import type { OnlineState } from '#base/node-store.ts'
import { DirectoryCopy, type DirectoryChange } from '#cluster/directory-copy.ts'
import { IdGroups } from '#base/id-groups.ts'
import type { OnlineChange } from '#cluster/nodes/online-change.ts'
import type { SnapshotRecords } from '#cluster/nodes/snapshot-records.ts'
import { machineOf } from '#registry/machine-of.ts'
import { otherConnections } from '#registry/agent-connections.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'

export interface NodeCounts {
  readonly agents: number
  readonly tunnels: number
}

/** What all nodes have online, as this one last read it. */
export class OnlineCopy extends DirectoryCopy {
  /**
   * In which incarnation and epoch each record was written. A node that writes all of its records again, such as after
   * the loss of the database, reports when it has finished; until then its earlier ones count.
   */
  readonly #generations = new Map<string, string>()
  readonly #tunnelsOfSession = new IdGroups()
  readonly #tunnelsOfNode = new IdGroups()
  readonly #sessionsOfNode = new IdGroups()
  #incarnation: string | undefined
  #sequence = 0
  /** One text for all records of a generation. */
  #lastGeneration: { incarnation: string | undefined; epoch: number; text: string } | undefined

  get incarnation(): string | undefined {
    return this.#incarnation
  }

  /** The number of the last change that was applied. */
  get sequence(): number {
    return this.#sequence
  }

  tunnelsOfSession(id: string): TunnelRecord[] {
    return this.#tunnelsOf(this.#tunnelsOfSession, id)
  }

  tunnelsOfNode(node: string): TunnelRecord[] {
    return this.#tunnelsOf(this.#tunnelsOfNode, node)
  }

  /** How many connections of agents a node has, and tunnels through them. */
  countsOf(node: string): NodeCounts {
    return { agents: this.#sessionsOfNode.count(node), tunnels: this.#tunnelsOfNode.count(node) }
  }

  override apply(change: DirectoryChange): void {
    if ('tunnel' in change) this.#indexTunnel(change.tunnel, change.is === 'tunnel_added')
    else this.#indexSession(change.session, change.is === 'session_added')
    super.apply(change)
  }

  follow(change: OnlineChange): void {
    this.#sequence++
    switch (change.is) {
      case 'session':
        return this.putSession(change.record, this.#generation(change.epoch))
      case 'tunnel':
        return this.putTunnel(change.record, this.#generation(change.epoch))
      case 'session_gone':
        return this.dropSession(change.id, change.node, change.error)
      case 'tunnel_gone':
        return this.dropTunnel(change.id, change.node, change.lost)
      case 'complete':
        return this.#dropEarlier(change.node, this.#generation(change.epoch))
    }
  }

  /**
   * Replaces everything. Nodes that have not written all yet, such as in a new incarnation, keep their records; they are
   * `kept` until the caller ends it.
   */
  load(
    { incarnation, sequence, restoring }: OnlineState,
    { epochs }: SnapshotRecords,
    kept: (node: string) => boolean,
  ): void {
    const isNew = incarnation !== this.#incarnation
    this.#incarnation = incarnation
    this.#sequence = sequence
    const written = new Set<string>()
    const missing = new Set([...this.tunnels.keys(), ...this.sessions.keys()])
    for (const { node, epoch, sessions, tunnels } of epochs) {
      const generation = this.#generation(epoch)
      written.add(node)
      for (const session of sessions) {
        missing.delete(session.id)
        this.putSession(session, generation)
      }
      for (const tunnel of tunnels) {
        missing.delete(tunnel.id)
        this.putTunnel(tunnel, generation)
      }
    }
    const isKept = (process: string): boolean => {
      const node = machineOf(process)
      return (restoring.has(node) || (isNew && !written.has(node))) && kept(node)
    }
    for (const { id, node } of this.tunnels.values())
      if (missing.has(id) && !isKept(node)) this.dropTunnel(id, machineOf(node), true)
    for (const { id, node } of this.sessions.values())
      if (missing.has(id) && !isKept(node)) this.dropSession(id, machineOf(node), GONE)
  }

  putSession(session: SessionRecord, generation = this.#generation(UNWRITTEN)): void {
    this.#generations.set(session.id, generation)
    const earlier = this.sessions.get(session.id)
    // Written again after an outage: nothing has changed.
    if (earlier !== undefined && isDeepStrictEqual(earlier, session)) return
    this.apply({ is: 'session_added', session })
  }

  putTunnel(tunnel: TunnelRecord, generation = this.#generation(UNWRITTEN)): void {
    this.#generations.set(tunnel.id, generation)
    const earlier = this.tunnels.get(tunnel.id)
    if (earlier !== undefined && isDeepStrictEqual(earlier, tunnel)) return
    if (earlier !== undefined) this.apply({ is: 'tunnel_removed', tunnel: earlier, lost: false })
    this.apply({ is: 'tunnel_added', tunnel })
  }

  dropSession(id: string, node: string, error: string | undefined): void {
    const session = this.sessions.get(id)
    if (session === undefined || machineOf(session.node) !== node) return
    this.#generations.delete(id)
    this.apply({ is: 'session_removed', session, error })
  }

  dropTunnel(id: string, node: string, lost: boolean): void {
    const tunnel = this.tunnels.get(id)
    if (tunnel === undefined || machineOf(tunnel.node) !== node) return
    this.#generations.delete(id)
    this.apply({ is: 'tunnel_removed', tunnel, lost })
  }

  /** Removes the records of nodes that do not count any more. */
  prune(counts: (node: string) => boolean): void {
    const nodes = new Set([...this.#tunnelsOfNode.keys, ...this.#sessionsOfNode.keys])
    for (const node of nodes) if (!counts(node)) this.#dropNode(node, () => true)
  }

  /** Uses the other connections of agents, so that no idle connection through a draining node remains. */
  retire(isDraining: (node: string) => boolean): void {
    for (const node of this.#tunnelsOfNode.keys.filter(isDraining))
      for (const tunnel of this.tunnelsOfNode(node)) {
        const others = otherConnections(this.tunnels, tunnel)
        if (others.some(other => !isDraining(machineOf(other.node)))) this.dropTunnel(tunnel.id, node, false)
      }
  }

  #dropEarlier(node: string, generation: string): void {
    this.#dropNode(node, id => this.#generations.get(id) !== generation)
  }

  #dropNode(node: string, isVoid: (id: string) => boolean): void {
    for (const id of this.#tunnelsOfNode.of(node)) if (isVoid(id)) this.dropTunnel(id, node, true)
    for (const id of this.#sessionsOfNode.of(node)) if (isVoid(id)) this.dropSession(id, node, GONE)
  }

  #tunnelsOf(groups: IdGroups, key: string): TunnelRecord[] {
    return groups.of(key).flatMap(id => this.tunnels.get(id) ?? [])
  }

  #indexTunnel(tunnel: TunnelRecord, isOnline: boolean): void {
    const { id } = tunnel
    const earlier = this.tunnels.get(id)
    if (earlier !== undefined) {
      this.#tunnelsOfSession.delete(earlier.sessionId, id)
      this.#tunnelsOfNode.delete(machineOf(earlier.node), id)
    }
    if (!isOnline) return
    this.#tunnelsOfSession.add(tunnel.sessionId, id)
    this.#tunnelsOfNode.add(machineOf(tunnel.node), id)
  }

  #indexSession({ id, node }: SessionRecord, isOnline: boolean): void {
    const earlier = this.sessions.get(id)
    if (earlier !== undefined) this.#sessionsOfNode.delete(machineOf(earlier.node), id)
    if (isOnline) this.#sessionsOfNode.add(machineOf(node), id)
  }

  #generation(epoch: number): string {
    const incarnation = this.#incarnation
    const last = this.#lastGeneration
    if (last?.incarnation === incarnation && last?.epoch === epoch) return last.text
    const text = `${incarnation}:${epoch}`
    this.#lastGeneration = { incarnation, epoch, text }
    return text
  }
}

/** The epoch of records that the database does not have. */
const UNWRITTEN = 0

const GONE = 'The node of the agent has gone.'

import { join } from 'node:path'
import { createEgress } from '#base/egress-client.ts'
import { createLog, type Log } from '#base/log.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { Secret } from '#base/secrets.ts'
import type { AgentCommand } from '#registry/directory.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { startGateway, type Gateway } from '#gateway/gateway.ts'
import { dialAnyConnection } from '#gateway/cluster-links/dial-any-connection.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import type { IdPage } from '#base/page-by-id.ts'
import type { Follower, Source, SourceChange, SourceRow } from '#registry/records/source.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'
import { TrafficEvents } from '#telemetry/traffic-events.ts'
import { LocalAuthority } from '#pki/local-authority.ts'
import { startProblem } from '#cluster/gateway-handle.ts'
import { openAccessLog } from '#telemetry/request-log/access-log.ts'
import { LastResort } from '#base/last-resort.ts'
import { Channel } from '#cluster/channel.ts'
import { usePlainReads } from '#tunnel/socket-reads.ts'
import { tracingParts } from '#telemetry/tracing/setup.ts'
import { openedOAuth, openedTracing, type WorkerStart } from '#cluster/protocol.ts'
import { SharedDirectory, type DirectoryChange } from '#cluster/shared-directory.ts'

/** A gateway process: it serves clients and agents, and asks the first process about all else. */
class Worker implements Source {
  readonly #channel: Channel
  readonly #directory: SharedDirectory
  #follower: Follower | undefined
  #gateway: Gateway | undefined
  #peers: PeerLinks | undefined
  #reachable: Promise<void> | undefined
  readonly #log: Log
  readonly #traffic: TrafficEvents

  constructor(log: Log) {
    this.#log = log
    this.#traffic = new TrafficEvents(batch => this.#channel.request('traffic', batch), log)
    this.#channel = new Channel(process, {
      log,
      methods: {
        start: (start: WorkerStart) => this.#start(start),
        quiesce: (deadlineMs: number) => this.#running.quiesce(deadlineMs),
        moveOut: (deadlineMs: number) => this.#running.moveOut(deadlineMs),
        drain: (deadlineMs: number) => this.#drain(deadlineMs),
        findRequest: async (id: string) => this.#running.requests.find(id),
        listRequests: async (page: IdPage) => this.#running.requests.list(page),
        metrics: async () => this.#running.metrics.registry.snapshot(),
        probe: (sessionId: string) => this.#running.registry.probe(sessionId),
        command: ({ sessionId, command }: { sessionId: string; command: AgentCommand }) =>
          this.#running.registry.command(sessionId, command),
      },
      notices: {
        directory: (change: DirectoryChange) => this.#directory.apply(change),
        snapshot: (rows: readonly SourceRow[]) => this.#follower?.snapshot(rows),
        wantedTraffic: (wanted: WantedTraffic) => this.#traffic.subscribe(wanted),
        changes: (batch: readonly SourceChange[]) => this.#follower?.changes(batch),
      },
    })
    this.#directory = new SharedDirectory(this.#channel, log)
  }

  /** Reports an uncaught error to the first process; the log of this process has it. */
  readonly reportUncaught = (): void => this.#channel.notify('uncaught', null)

  /** The first snapshot comes before the response. */
  async watch(kinds: readonly string[], follower: Follower): Promise<() => void> {
    this.#follower = follower
    await this.#channel.request('watch', kinds)
    return () => {
      this.#follower = undefined
    }
  }

  get #running(): Gateway {
    if (!this.#gateway) throw new Error('The worker has not started.')
    return this.#gateway
  }

  async #start(start: WorkerStart): Promise<Gateway['bound']> {
    const { node, root, keys, peerFolder } = start
    const log = this.#log
    usePlainReads(!start.fastReads)
    this.#traffic.subscribe(start.wantedTraffic)
    for (const change of start.directory) this.#directory.apply(change)
    const authority = await LocalAuthority.open({ ...root, privateKeyPem: new Secret(root.privateKeyPem) })
    this.#gateway = await startGateway({
      ...start.options,
      source: this,
      directory: this.#directory,
      authority,
      keys: {
        proofs: Buffer.from(keys.proofs),
        tickets: Buffer.from(keys.tickets),
        sshHost: new Secret(keys.sshHost),
      },
      egress: createEgress({ allow: start.egressAllow }),
      oauth: openedOAuth(start.oauth),
      userSessions: {
        signedIn: signedIn => this.#channel.request('signedIn', signedIn),
        active: (id, expiresAt) => this.#channel.notify('sessionActive', { id, expiresAt }),
        ended: id => this.#channel.request('sessionEnded', id),
        claimCode: claim => this.#channel.request('claimCode', claim),
      },
      traffic: this.#traffic,
      recentNames: start.recentNames,
      tracing: tracingParts(openedTracing(start.tracing)),
      requests: { size: start.requests.size, write: openAccessLog(start.requests.accessLog, log) },
      log,
      sharesPorts: () => true,
      dialer: local => this.#dialer(local, node, peerFolder),
    }).catch((error: unknown) => {
      throw startProblem(error)
    })
    await this.#reachable
    return this.#gateway.bound
  }

  #dialer(local: AgentRegistry, node: string, folder: string): AgentDialer {
    const { tunnels, sessions } = this.#directory
    const peers = new PeerLinks({
      node,
      tunnels,
      local,
      log: this.#log,
      socketOf: other => join(folder, `${other}.sock`),
    })
    this.#peers = peers
    // Before any agent is accepted: clients of other processes may need it at once.
    this.#reachable = peers.listen()
    const dial: AgentDialer['dial'] = (tunnel, header, first) =>
      tunnel.node === node ? local.dial(tunnel, header, first) : peers.dial(tunnel, header, first)
    const isOwn = (sessionId: string): boolean => sessions.get(sessionId)?.node === node
    return {
      dial: dialAnyConnection(tunnels, dial),
      probe: id => (isOwn(id) ? local.probe(id) : this.#channel.request('probe', id)),
      command: (sessionId, command) => this.#channel.request('command', { sessionId, command }),
    }
  }

  async #drain(deadlineMs: number): Promise<void> {
    await this.#gateway?.drain(deadlineMs)
    await this.#peers?.close()
  }
}

// Validated by the first process.
const log = createLog((process.argv.at(-1) ?? 'info') as LogLevel)
const worker = new Worker(log)
void new LastResort(log, worker.reportUncaught)
// Without the first process a worker is useless; it is restarted with it.
process.on('disconnect', () => process.exit(0))
// The first process decides when to stop; a terminal signals all processes at once.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)

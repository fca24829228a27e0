import { reservedAddr } from '#contract/kinds/reserved-addr.ts'
import { tcpEdge } from '#contract/kinds/edges.ts'
import { guarded, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { Directory } from '#registry/directory.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { TcpPorts } from '#gateway/listeners/tcp.ts'
import type { Router } from '#gateway/routing/router.ts'
import { addrPortKey, edgePortKeys } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'

interface TcpPortReconcilerOptions {
  readonly directory: Directory
  readonly records: Records
  readonly router: Pick<Router, 'tcp'>
  readonly ports: Pick<TcpPorts, 'open' | 'close'>
  readonly log: Log
}

/** Keeps exactly those TCP ports open that a tunnel or an edge uses. */
export class TcpPortReconciler {
  readonly #options: TcpPortReconcilerOptions
  readonly #open = new Set<number>()
  readonly #due = new Set<number>()
  readonly #stop: (() => void)[]
  readonly #queue = new SerialQueue()

  constructor(options: TcpPortReconcilerOptions) {
    this.#options = options
    const { directory, records } = options
    this.#stop = [
      directory.watch({
        added: ({ address }) => this.#check(address?.scheme === 'tcp' ? [address.port] : []),
        removed: ({ address }) => this.#check(address?.scheme === 'tcp' ? [address.port] : []),
      }),
      records.onChange(['tcp_edge'], ({ before, after }) =>
        [before, after].forEach(row => row && this.#checkRow(row, portsOf)),
      ),
      records.onChange(['reserved_addr'], ({ before, after }) =>
        [before, after].forEach(row => row && this.#checkRow(row, reservedPorts)),
      ),
      // It may be the configuration of any address, and may have gained or lost a backend.
      records.onChange(['endpoint_configuration'], () => this.#checkReserved()),
    ]
    for (const row of records.all(tcpEdge)) this.#checkRow(row, portsOf)
    this.#checkReserved()
    for (const { address } of directory.tunnels.values())
      if (address?.scheme === 'tcp') this.#check([address.port])
  }

  /** Resolves when the ports match the current state. */
  settled(): Promise<void> {
    return this.#queue.settled()
  }

  close(): void {
    for (const stop of this.#stop) stop()
    for (const port of this.#open) this.#options.ports.close(port)
    this.#open.clear()
  }

  #checkReserved(): void {
    for (const row of this.#options.records.all(reservedAddr)) this.#checkRow(row, reservedPorts)
  }

  /** A record with unreadable ports does not affect other ports. */
  #checkRow(row: SourceRow, ports: (row: SourceRow) => number[]): void {
    const { log } = this.#options
    guarded({ task: 'ports', log, about: { id: row.id } }, () => this.#check(ports(row)))
  }

  /** A replaced tunnel is removed and added within one turn; its port stays open. */
  #check(ports: readonly number[]): void {
    for (const port of ports) this.#due.add(port)
    if (ports.length > 0) void this.#queue.run(() => this.#settle())
  }

  async #settle(): Promise<void> {
    const due = [...this.#due]
    this.#due.clear()
    const { log } = this.#options
    for (const port of due)
      await inBackground({ task: 'ports', log, about: { port } }, () => this.#settlePort(port))
  }

  async #settlePort(port: number): Promise<void> {
    const isWanted = this.#options.router.tcp(port) !== undefined
    if (isWanted && !this.#open.has(port)) await this.#listen(port)
    else if (!isWanted && this.#open.delete(port)) this.#options.ports.close(port)
  }

  async #listen(port: number): Promise<void> {
    const { ports, router, log } = this.#options
    try {
      await ports.open(port, {
        dial: (client, first) => {
          const upstream = router.tcp(port)
          if (upstream === undefined) throw new DialError('offline', `Nothing is served on port ${port}.`)
          return upstream.dial(client, first)
        },
        decide: ip => router.tcp(port)?.decide?.(ip),
        get usage() {
          return router.tcp(port)?.usage
        },
        get proxyProtocol() {
          return router.tcp(port)?.proxyProtocol ?? 0
        },
      })
      this.#open.add(port)
    } catch (error) {
      log.error({ error, port }, 'a TCP port cannot be opened')
    }
  }
}

const portsOf = (row: SourceRow): number[] => edgePortKeys(row).map(Number)
const reservedPorts = (row: SourceRow): number[] => addrPortKey(row).map(Number)

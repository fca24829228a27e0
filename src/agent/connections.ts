import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Binding } from '#agent/binding.ts'
import { CaptureTap } from '#agent/capture/capture-tap.ts'
import { dialBehind, dialReason, dialUpstream } from '#agent/dial-upstream.ts'
import type { FileServer } from '#agent/files/file-server.ts'
import { handToListener } from '#agent/local-listener.ts'
import type { AgentOptions } from '#agent/options.ts'
import type { ConnectionEvent } from '#agent/events.ts'
import { plainText } from '#agent/plain-text.ts'
import { readProxyProtocol } from '#agent/proxy-protocol-reader.ts'
import { refuse } from '#agent/refuse.ts'
import { type OnRequest, RequestTap } from '#agent/request-tap.ts'
import type { UpstreamTarget } from '#agent/target.ts'
import { notifyListener } from '#agent/notify-listener.ts'
import { ClientTlsError, endTls } from '#agent/terminate.ts'
import { isWeb, type ProxiedConnection } from '#agent/proxied-connection.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { fromDuplex } from '#tunnel/from-duplex.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { readProxyHeader } from '#tunnel/proxy-header.ts'
import { splice } from '#tunnel/splice.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const MAX_CONNECTIONS = 1000

/** Serves the connections that gateways open through this agent. */
export class Connections {
  readonly #options: AgentOptions
  readonly #limit: number
  #open = 0

  constructor(options: AgentOptions) {
    this.#options = options
    this.#limit = options.maxConnections ?? MAX_CONNECTIONS
  }

  get limit(): number {
    return this.#limit
  }

  /** Takes a stream; `find` returns its tunnel, perhaps after waiting for one that is being bound. */
  accept(stream: TunnelStream, find: (id: string) => Promise<Binding | undefined>): void {
    if (this.#open >= this.#limit) {
      stream.reset('stream_refused')
      return
    }
    this.#open++
    void this.#serve(stream, find)
  }

  async #serve(stream: TunnelStream, find: (id: string) => Promise<Binding | undefined>): Promise<void> {
    try {
      const header = await readProxyHeader(stream)
      const binding = await find(header.Id)
      if (binding !== undefined && !stream.closed) {
        this.#begin(binding, header, stream)
        return
      }
    } catch {
      // Invalid streams, or streams of an unknown tunnel, are closed silently, as every agent does.
    }
    stream.abort()
    this.#open--
  }

  #begin(binding: Binding, header: ProxyHeader, stream: TunnelStream): void {
    const { endpoint } = binding
    const { onConnection } = this.#options
    const noted = onConnection && notes(onConnection, binding, header)
    const done: ProxiedConnection['done'] = (bytesIn, bytesOut, failure) => {
      this.#open--
      noted?.(bytesIn, bytesOut, failure)
    }
    const proxied = { binding, header, stream, done }
    if (endpoint.files) void this.#serveFiles(proxied, endpoint.files)
    else if (endpoint.target === undefined) void handToListener(proxied, endpoint.onConnection)
    else if (endpoint.terminator || endpoint.proxyProto > 0)
      void this.#forwardBehind(proxied, endpoint.target)
    else this.#join(proxied, endpoint.target, dialUpstream(endpoint, endpoint.target, header.PassthroughTLS))
  }

  #serveFiles(proxied: ProxiedConnection, files: FileServer): Promise<void> {
    const seen = this.#onRequest(proxied.binding)
    const capture = captureOf(proxied)
    const take = (stream: Duplex): void => {
      stream.once('close', () => capture?.closed(!stream.errored))
      files.serve(stream, seen)
    }
    return handToListener(proxied, take, capture)
  }

  /** Forwards a stream that begins with other bytes than the service's: a PROXY header, or TLS terminated here. */
  async #forwardBehind(proxied: ProxiedConnection, target: UpstreamTarget): Promise<void> {
    const { binding, header, stream, done } = proxied
    const { terminator, proxyProto } = binding.endpoint
    try {
      const preface = proxyProto > 0 ? await readProxyProtocol(stream) : undefined
      const source = terminator ? fromDuplex(await endTls(asDuplex(stream), terminator)) : stream
      const plain = header.PassthroughTLS && terminator === undefined
      const socket = await dialBehind(binding.endpoint, target, { plain, preface })
      this.#join(proxied, target, socket, source)
    } catch (error) {
      const reason = error instanceof ClientTlsError ? error.message : dialReason(error as Error, target)
      refuse(proxied, reason)
      done(0, 0, reason)
    }
  }

  #join(
    proxied: ProxiedConnection,
    target: UpstreamTarget,
    socket: Socket,
    source: ByteStream = proxied.stream,
  ): void {
    const { binding, stream, done } = proxied
    const isHttp1 = isWeb(proxied) && binding.endpoint.forwardsProto !== 'http2'
    const onRequest = isHttp1 ? this.#onRequest(binding) : undefined
    const capture = isHttp1 ? captureOf(proxied, onRequest) : undefined
    const tap = capture ?? (onRequest && new RequestTap(onRequest))
    let reached = false
    let failure: string | undefined
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => (reached = true))
    splice(socket, source, {
      tap,
      ended: ({ sent, received, error }) => {
        capture?.closed(error === undefined)
        done(sent, received, failure)
      },
      giveUp: error => {
        if (reached) {
          stream.reset('stream_reset')
          return
        }
        failure = dialReason(error, target)
        // Not inlined in the call: without a tap it would not be evaluated.
        const page = refuse(proxied, failure)
        tap?.received(page)
      },
    })
  }

  #onRequest({ tunnel, endpoint }: Binding): OnRequest | undefined {
    const { onRequest } = this.#options
    return onRequest && endpoint.inspect
      ? request => notifyListener(onRequest, { tunnel, ...request })
      : undefined
  }
}

const captureOf = ({ binding, header }: ProxiedConnection, onRequest?: OnRequest): CaptureTap | undefined =>
  binding.endpoint.capture &&
  new CaptureTap(binding.endpoint.capture, plainText(header.ClientAddr), { onRequest })

/** Reports the start of a connection; the returned function reports its end. */
function notes(
  onConnection: (event: ConnectionEvent) => void,
  { tunnel }: Binding,
  { ClientAddr }: ProxyHeader,
): ProxiedConnection['done'] {
  const begun = performance.now()
  const about = { tunnel, clientAddr: plainText(ClientAddr) }
  notifyListener(onConnection, { ...about, kind: 'opened', bytesIn: 0, bytesOut: 0, durationMs: 0 })
  return (bytesIn, bytesOut, failure) => {
    const durationMs = performance.now() - begun
    notifyListener(onConnection, { ...about, kind: 'closed', bytesIn, bytesOut, durationMs, failure })
  }
}

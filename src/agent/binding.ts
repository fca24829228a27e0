import { AgentError } from '#agent/agent-error.ts'
import { replay } from '#agent/capture/replay.ts'
import type { EndpointSpec } from '#agent/endpoint.ts'
import { plainText } from '#agent/plain-text.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import type { BindAnswer, BindRequest, StartTunnelWithLabelRequest } from '#tunnel/messages.ts'

/** A tunnel from its first request to its end, over all connections of the agent. */
export class Binding {
  readonly endpoint: EndpointSpec
  readonly tunnel: Tunnel
  readonly closed: Promise<AgentError | undefined>
  readonly #resolveClosed: (error: AgentError | undefined) => void
  #granted: { readonly id: string; readonly url: string; readonly token: string } | undefined
  #over = false

  constructor(endpoint: EndpointSpec, close: (binding: Binding) => Promise<void>) {
    this.endpoint = endpoint
    const { promise, resolve } = Promise.withResolvers<AgentError | undefined>()
    this.closed = promise
    this.#resolveClosed = resolve
    this.tunnel = new BoundTunnel(this, () => close(this))
  }

  /** Empty before it was granted. */
  get id(): string {
    return this.#granted?.id ?? ''
  }

  get url(): string {
    return this.#granted?.url ?? ''
  }

  get over(): boolean {
    return this.#over
  }

  /** Later connections request what the gateway returned. */
  accept({ Id, URL, Extra }: BindAnswer): void {
    this.#granted = { id: Id, url: plainText(URL), token: Extra.Token }
  }

  /** Labelled tunnels have another id on every connection; the program knows the first one. */
  acceptLabelled(id: string): void {
    this.#granted ??= { id, url: '', token: '' }
  }

  end(error?: AgentError): void {
    this.#over = true
    this.#resolveClosed(error)
  }

  /** The bind request for this tunnel, the first one or a later one for the same tunnel. */
  request(): BindRequest {
    const { proto, forwardsTo, forwardsProto, metadata, description, pooling, wire } = this.endpoint
    return {
      Id: this.id,
      Proto: proto,
      ForwardsTo: forwardsTo,
      ForwardsProto: forwardsProto,
      Opts: this.url === '' ? wire : { ...wire, URL: this.url },
      Extra: {
        Name: undefined,
        Token: this.#granted?.token ?? '',
        IPPolicyRef: '',
        Metadata: metadata,
        Description: description,
        Bindings: [],
        PoolingEnabled: pooling,
      },
    }
  }

  labelledRequest(labels: Readonly<Record<string, string>>): StartTunnelWithLabelRequest {
    const { forwardsTo, forwardsProto, metadata } = this.endpoint
    return { Labels: labels, ForwardsTo: forwardsTo, ForwardsProto: forwardsProto, Metadata: metadata }
  }
}

/** What a program sees of a binding. */
class BoundTunnel implements Tunnel {
  readonly #binding: Binding
  readonly #close: () => Promise<void>

  constructor(binding: Binding, close: () => Promise<void>) {
    this.#binding = binding
    this.#close = close
  }

  get id(): string {
    return this.#binding.id
  }

  get url(): string {
    return this.#binding.url
  }

  get name(): string {
    return this.#binding.endpoint.name
  }

  get proto(): string {
    return this.#binding.endpoint.proto
  }

  get forwardsTo(): string {
    return this.#binding.endpoint.forwardsTo
  }

  get metadata(): string {
    return this.#binding.endpoint.metadata
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    return this.#binding.endpoint.labels
  }

  get closed(): Promise<AgentError | undefined> {
    return this.#binding.closed
  }

  replay(request: Buffer, replayOf: string): Promise<string> {
    return replay(this.#binding.endpoint, request, replayOf)
  }

  close(): Promise<void> {
    return this.#close()
  }
}

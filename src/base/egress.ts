import type { Socket } from 'node:net'

/**
 * `forbidden`: only addresses that may not be called. `unresolved`: the name has no address. `untrusted`: the certificate
 * is not valid for the name. `invalid`: what was asked or answered breaks a rule, a redirect for example.
 */
export type EgressFault =
  'forbidden' | 'unresolved' | 'unreachable' | 'untrusted' | 'timeout' | 'too_large' | 'invalid'

/** An address that outgoing calls may not reach, or a call that took too long or answered too much. */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code: EgressFault

  constructor(
    message: string,
    { code = 'unreachable', cause }: { readonly code?: EgressFault; readonly cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.code = code
  }
}

export interface EgressRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** 10 s unless told: for the whole call, redirects included. */
  readonly timeoutMs?: number
  /** How many redirects are followed; 3 unless told. */
  readonly redirects?: number
  /** 1 MiB unless told: a longer answer is an error. */
  readonly maxBytes?: number
}

export interface EgressAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface EgressConnect {
  readonly host: string
  readonly port: number
  /** Speak TLS and check the certificate against this name. */
  readonly tls?: { readonly serverName: string; readonly alpn?: readonly string[] }
  readonly timeoutMs?: number
}

/**
 * The one way out to others than agents. It resolves a name, checks every address, and connects to the very address
 * that was checked; private networks are reached only where the operator allows them.
 */
export interface Egress {
  request(url: string, request?: EgressRequest): Promise<EgressAnswer>
  /** The socket may stay half-open: whoever has it ends it. 10 s unless told, the handshake of TLS included. */
  connect(target: EgressConnect): Promise<Socket>
}

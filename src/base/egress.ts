import type { Socket } from 'node:net'

/**
 * `forbidden`: only addresses that may not be called. `unresolved`: the name has no address. `untrusted`: the
 * certificate is not valid for the name. `invalid`: the request or response breaks a rule, such as one about redirects.
 */
export type EgressFault =
  'forbidden' | 'unresolved' | 'unreachable' | 'untrusted' | 'timeout' | 'too_large' | 'invalid'

/** A forbidden address, or a request that took too long or returned too much. */
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
  /** Default 10 s, for the whole request including redirects. */
  readonly timeoutMs?: number
  /** How many redirects are followed; default 3. */
  readonly redirects?: number
  /** Default 1 MiB: a longer response is an error. */
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
  /** Use TLS and check the certificate against this name. */
  readonly tls?: { readonly serverName: string; readonly alpn?: readonly string[] }
  readonly timeoutMs?: number
}

/**
 * The only way to connect to anything but agents. It resolves a name, checks every address, and connects to exactly the
 * checked address; private networks are reached only if the operator allows them.
 */
export interface Egress {
  request(url: string, request?: EgressRequest): Promise<EgressAnswer>
  /** The socket may stay half-open: its user closes it. Default 10 s, including the TLS handshake. */
  connect(target: EgressConnect): Promise<Socket>
}

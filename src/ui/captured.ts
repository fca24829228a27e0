export type Headers = Readonly<Record<string, readonly string[]>>

/** A row of the list. */
export interface Summary {
  readonly id: string
  readonly tunnel_name: string
  readonly start: string
  readonly method: string
  readonly uri: string
  readonly status_code: number | null
  /** In nanoseconds; null until the response is complete. */
  readonly duration: number | null
  readonly complete: boolean
  readonly response_size: number
  readonly replay_of: string | null
}

export interface CapturedBody {
  readonly base64: string
  readonly size: number
  readonly truncated: boolean
}

/** One exchange with all its details. */
export interface Detail {
  readonly id: string
  readonly tunnel_name: string
  readonly remote_addr: string
  readonly start: string
  readonly duration: number
  readonly first_byte: number | null
  readonly complete: boolean
  readonly replay_of?: string
  /** The public URL, where it is known; otherwise it follows from the headers. */
  readonly url?: string
  readonly request: {
    readonly method: string
    readonly proto: string
    readonly headers: Headers
    readonly uri: string
    readonly raw: string
  }
  readonly response: {
    readonly status: string
    readonly status_code: number
    readonly proto: string
    readonly headers: Headers
    readonly raw: string
  } | null
  readonly bodies: { readonly request: CapturedBody; readonly response: CapturedBody | null }
}

export const header = (headers: Headers, name: string): string => headers[name]?.[0] ?? ''

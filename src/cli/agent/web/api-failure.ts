/** An error response of the local API. Programs compare code, status and message, so these never change. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  readonly body: object
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: FailureKind, err: string, headers: Readonly<Record<string, string>> = {}) {
    super(err)
    const { status, code, msg } = failures[kind]
    this.status = status
    this.headers = headers
    this.body = { error_code: code, status_code: status, msg, details: { err } }
  }
}

const failures = {
  bad_request: { status: 400, code: 100, msg: 'invalid request' },
  bad_tunnel: { status: 400, code: 102, msg: 'invalid tunnel configuration' },
  host_denied: { status: 403, code: 100, msg: 'forbidden' },
  not_found: { status: 404, code: 100, msg: 'not found' },
  method: { status: 405, code: 100, msg: 'method not allowed' },
  too_large: { status: 413, code: 100, msg: 'request body too large' },
  media_type: { status: 415, code: 100, msg: 'unsupported media type' },
  start_failed: { status: 502, code: 103, msg: 'failed to start tunnel' },
  not_ready: { status: 503, code: 104, msg: 'ngrok is not yet ready to start tunnels' },
} as const

type FailureKind = keyof typeof failures

export const notReady = (): ApiFailure =>
  new ApiFailure('not_ready', 'a successful ngrok tunnel session has not yet been established')

import type { EgressAnswer } from '#base/egress.ts'
import { DeliveryError, type DestinationParts } from '#events/destination.ts'
import type { Arn } from '#events/destinations/aws/arn.ts'
import type { AwsCredentials } from '#events/destinations/aws/credentials.ts'
import { signed } from '#events/destinations/aws/signature.ts'
import {
  blame,
  faultOf,
  plainWord,
  retryAfter,
  unanswered,
  type Fault,
} from '#events/destinations/failures.ts'
import { KeepAliveClient } from '#events/destinations/keep-alive-client.ts'

interface AwsServiceOptions {
  /** As in URLs and signatures. */
  readonly name: string
  /** The prefix of its operations: `Firehose_20150804` for example. */
  readonly api: string
  readonly arn: Arn
  readonly credentials: AwsCredentials
  readonly parts: DestinationParts
}

/** AWS uses 400 for nearly everything, with its own error types. These are about the content. */
const ofEvents = new Set([
  'InvalidArgumentException',
  'InvalidParameterException',
  'SerializationException',
  'ValidationException',
])
/** These are temporary; everything else is about keys, permissions or resource names. */
const passing = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InternalFailure',
  'KMSThrottlingException',
  'LimitExceededException',
  'OperationAbortedException',
  'ProvisionedThroughputExceededException',
  'RequestExpired',
  'RequestLimitExceeded',
  'ResourceInUseException',
  'ServiceUnavailable',
  'ServiceUnavailableException',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
])
const expired = new Set(['ExpiredToken', 'ExpiredTokenException', 'RequestExpired'])

/** An error with AWS's type. */
export class AwsError extends DeliveryError {
  readonly type: string | undefined

  constructor(
    message: string,
    type: string | undefined,
    options: ConstructorParameters<typeof DeliveryError>[1],
  ) {
    super(message, options)
    this.type = type
  }
}

/** Calls the operations of one AWS JSON 1.1 service. */
export class AwsService {
  readonly #options: AwsServiceOptions
  readonly #url: URL
  readonly #http: KeepAliveClient

  constructor(options: AwsServiceOptions) {
    const { name, arn, parts } = options
    this.#options = options
    this.#url = new URL(parts.endpoints[name] ?? `https://${name}.${arn.region}.${arn.suffix}/`)
    this.#http = new KeepAliveClient(parts.egress)
  }

  async call(operation: string, content: unknown, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { name, api, arn, credentials, parts } = this.#options
    const url = this.#url
    const body = JSON.stringify(content)
    try {
      const keys = await credentials.keys(signal)
      const asked = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${api}.${operation}` }
      const request = { method: 'POST', url, headers: asked, body }
      const headers = signed(request, { service: name, region: arn.region, keys, now: parts.now() })
      const answer = await this.#http.post({ url: url.href, headers, body, signal })
      if (answer.status === 200) return objectOf(answer)
      throw this.#refusal(operation, answer)
    } catch (error) {
      throw unanswered(`AWS ${name}`, error)
    }
  }

  close(): void {
    this.#http.close()
  }

  #refusal(operation: string, answer: EgressAnswer): AwsError {
    const type = typeOf(answer)
    if (type !== undefined && expired.has(type)) this.#options.credentials.forget()
    const wait = retryAfter(answer, this.#options.parts.now())
    const message = `AWS ${this.#options.name} responded with ${answer.status} (${type ?? 'no reason'}) to ${operation}.`
    return new AwsError(message, type, {
      ...blame(faultIn(answer.status, type)),
      ...(wait !== undefined && { retryAfterMs: wait }),
    })
  }
}

function faultIn(status: number, type: string | undefined): Fault {
  if (type !== undefined && passing.has(type)) return 'passing'
  const isTyped = status === 400 && type !== undefined
  return isTyped && !ofEvents.has(type) ? 'settings' : faultOf(status)
}

function objectOf({ body }: EgressAnswer): Record<string, unknown> {
  // Operations without a result have an empty response.
  if (body.length === 0) return {}
  try {
    const value: unknown = JSON.parse(body.toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Reported below; the content is not, as it may repeat what was sent.
  }
  throw new DeliveryError('AWS sent a response that is not JSON.')
}

/** The type is in a header or the content, with a namespace before or a URL after it. */
function typeOf(answer: EgressAnswer): string | undefined {
  let given: unknown = answer.headers['x-amzn-errortype']
  try {
    given ??= (JSON.parse(answer.body.toString()) as Record<string, unknown> | null)?.['__type']
  } catch {
    return undefined
  }
  return typeof given === 'string' ? plainWord(given.split(':')[0]?.split('#').at(-1)) : undefined
}

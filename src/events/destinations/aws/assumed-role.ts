import { Secret } from '#base/secrets.ts'
import { DeliveryError, type DestinationParts } from '#events/destination.ts'
import type { Arn } from '#events/destinations/aws/arn.ts'
import { signed, type AwsKeys } from '#events/destinations/aws/signature.ts'
import { faultOfSignIn, plainWord, refusal, unanswered } from '#events/destinations/failures.ts'
import { TtlCache, type Expiring } from '#events/destinations/ttl-cache.ts'

type RoleParts = DestinationParts & { readonly ownKeys: () => AwsKeys }

const SERVICE = 'AWS STS'
const FORM = 'application/x-www-form-urlencoded; charset=utf-8'
const SECONDS = 3600
/** STS reports throttling with 400. */
const passing = new Set(['Throttling', 'ThrottlingException', 'RequestLimitExceeded', 'RequestThrottled'])

/** Keys of a role, requested with the server's own and cached until shortly before they expire. */
export class AssumedRole {
  readonly #role: string
  readonly #arn: Arn
  readonly #parts: RoleParts
  readonly #kept: TtlCache<AwsKeys>

  constructor(role: string, arn: Arn, parts: RoleParts) {
    this.#role = role
    this.#arn = arn
    this.#parts = parts
    this.#kept = new TtlCache(() => this.#assume(), parts.now)
  }

  keys(signal: AbortSignal): Promise<AwsKeys> {
    return this.#kept.get(signal)
  }

  forget(): void {
    this.#kept.forget()
  }

  async #assume(): Promise<Expiring<AwsKeys>> {
    const { region, suffix } = this.#arn
    const { egress, endpoints, now, ownKeys } = this.#parts
    const url = new URL(endpoints['sts'] ?? `https://sts.${region}.${suffix}/`)
    const body = new URLSearchParams({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: this.#role,
      RoleSessionName: 'adit-events',
      DurationSeconds: String(SECONDS),
    }).toString()
    const request = { method: 'POST', url, headers: { 'content-type': FORM }, body }
    const headers = signed(request, { service: 'sts', region, keys: ownKeys(), now: now() })
    const answer = await egress
      .request(url.href, { method: 'POST', headers, body, redirects: 0 })
      .catch((error: unknown) => {
        throw unanswered(SERVICE, error)
      })
    const text = answer.body.toString()
    if (answer.status === 200) return assumedOf(text)
    const reason = plainWord(element(text, 'Code'))
    const isPassing = reason !== undefined && passing.has(reason)
    throw refusal(SERVICE, answer, now(), {
      fault: isPassing ? 'passing' : faultOfSignIn(answer.status),
      ...(reason !== undefined && { reason }),
    })
  }
}

/** The content of the first element of a name; these contain plain text without references. */
const element = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([^<&]{1,8192}?)\\s*</${name}>`).exec(xml)?.[1]

function assumedOf(xml: string): Expiring<AwsKeys> {
  const [id, key, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map(name => element(xml, name))
  const expires = Date.parse(element(xml, 'Expiration') ?? '')
  if (!id || !key || !token || Number.isNaN(expires))
    throw new DeliveryError(`${SERVICE} responded without keys.`)
  const value = { accessKeyId: id, secretAccessKey: new Secret(key), sessionToken: new Secret(token) }
  return { value, expires }
}

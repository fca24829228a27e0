import { Secret } from '#base/secrets.ts'
import { DeliveryError, type DestinationParts } from '#events/destination.ts'
import { faultOfSignIn, plainWord, refusal, unanswered } from '#events/destinations/failures.ts'
import { TtlCache, type Expiring } from '#events/destinations/ttl-cache.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'Azure sign-in'
const SCOPE = 'https://monitor.azure.com//.default'

/** Tokens for the target's client, cached until shortly before they expire. */
export class AzureToken {
  readonly #target: TargetOf<'azure_logs_ingestion'>
  readonly #parts: DestinationParts
  readonly #kept: TtlCache<Secret>

  constructor(target: TargetOf<'azure_logs_ingestion'>, parts: DestinationParts) {
    this.#target = target
    this.#parts = parts
    this.#kept = new TtlCache(() => this.#ask(), parts.now)
  }

  get(signal: AbortSignal): Promise<Secret> {
    return this.#kept.get(signal)
  }

  forget(): void {
    this.#kept.forget()
  }

  async #ask(): Promise<Expiring<Secret>> {
    const { tenant_id: tenant, client_id: id, client_secret: secret } = this.#target
    const { egress, endpoints, now } = this.#parts
    const login = endpoints['azure_login'] ?? 'https://login.microsoftonline.com'
    const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, scope: SCOPE }
    const answer = await egress
      .request(`${login}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
        redirects: 0,
      })
      .catch((error: unknown) => {
        throw unanswered(SERVICE, error)
      })
    const content = jsonOf(answer.body)
    if (answer.status !== 200) {
      const reason = plainWord(content['error'])
      throw refusal(SERVICE, answer, now(), {
        fault: faultOfSignIn(answer.status),
        ...(reason !== undefined && { reason }),
      })
    }
    const { access_token: token, expires_in: seconds } = content
    if (typeof token !== 'string' || token === '' || !(Number(seconds) > 0))
      throw new DeliveryError(`${SERVICE} responded without a token.`)
    return { value: new Secret(token), expires: now() + Number(seconds) * 1000 }
  }
}

function jsonOf(body: Buffer): Record<string, unknown> {
  try {
    return (JSON.parse(body.toString()) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

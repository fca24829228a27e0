import type { EgressFetch } from '#auth/sign-in/egress-fetch.ts'
import { MAX_RSA_BITS } from '#pki/rsa-size.ts'

const MAX_MODULUS_BYTES = MAX_RSA_BITS / 8
const MAX_EXPONENT_BYTES = 4

/** Whether a JSON Web Key is an RSA key above the size limit. */
function isLarge(key: unknown): boolean {
  if (typeof key !== 'object' || key === null) return false
  const { n, e } = key as { readonly n?: unknown; readonly e?: unknown }
  const bytes = (value: unknown): number =>
    typeof value === 'string' ? Buffer.from(value, 'base64url').length : 0
  return bytes(n) > MAX_MODULUS_BYTES || bytes(e) > MAX_EXPONENT_BYTES
}

/** Fetches a JSON Web Key Set without oversized keys: a token signed with one has no known key. */
export const withoutLargeKeys =
  (fetch: EgressFetch): EgressFetch =>
  async (url, options) => {
    const response = await fetch(url, options)
    if (!response.ok) return response
    const { status, headers } = response
    const text = await response.text()
    return new Response(filtered(text), { status, headers })
  }

function filtered(text: string): string {
  try {
    const set = JSON.parse(text) as { readonly keys?: unknown }
    if (!Array.isArray(set.keys)) return text
    return JSON.stringify({ ...set, keys: set.keys.filter(key => !isLarge(key)) })
  } catch {
    // The library reports the error.
    return text
  }
}

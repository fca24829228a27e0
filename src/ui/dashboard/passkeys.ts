import { dashboardCalls } from '#contract/dashboard.ts'
import { post, startSession } from '#ui/dashboard/session.ts'

/** Browsers have passkeys only at host names, over HTTPS or on localhost. */
export const hasPasskeys = (): boolean =>
  isSecureContext && 'PublicKeyCredential' in globalThis && !/^(\[|[\d.]+$)/.test(location.hostname)

const textOf = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0))

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text))

/** ES256, EdDSA and RS256. */
const algorithms = [-7, -8, -257]

interface Options {
  readonly challenge: string
  readonly host: string
  readonly user: { readonly id: string; readonly name: string; readonly display_name: string }
  readonly excluded: readonly string[]
}

/** Makes a passkey on this device, and adds it to the signed-in user. */
export async function addPasskey(name: string): Promise<void> {
  const { challenge, host, user, excluded } = (await post(dashboardCalls.passkey_options.path, {})) as Options
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: utf8(challenge),
      rp: { id: host, name: 'Adit' },
      user: { id: utf8(user.id), name: user.name, displayName: user.display_name },
      pubKeyCredParams: algorithms.map(alg => ({ type: 'public-key', alg })),
      excludeCredentials: excluded.map(id => ({ type: 'public-key', id: bytesOf(id) })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  })
  if (!(made instanceof PublicKeyCredential)) throw new Error('The browser has made no passkey.')
  const response = made.response as AuthenticatorAttestationResponse
  const key = response.getPublicKey()
  if (key === null) throw new Error('The device has made a key of another kind.')
  await post(dashboardCalls.passkey_add.path, {
    name,
    credential_id: textOf(made.rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.getAuthenticatorData()),
    public_key: textOf(key),
  })
}

/** Signs in with a passkey that the user selects. */
export async function signInWithPasskey(): Promise<void> {
  const { challenge, host } = (await post(dashboardCalls.passkey_challenge.path, {})) as Options
  const given = await navigator.credentials.get({
    publicKey: { challenge: utf8(challenge), rpId: host, userVerification: 'required' },
  })
  if (!(given instanceof PublicKeyCredential)) throw new Error('The browser has no passkey.')
  const response = given.response as AuthenticatorAssertionResponse
  await startSession(dashboardCalls.passkey_login.path, {
    credential_id: textOf(given.rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    ...(response.userHandle && { user_handle: textOf(response.userHandle) }),
  })
}

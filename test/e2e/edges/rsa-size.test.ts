import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { SnsCertificates } from '#webhooks/sns-certificates.ts'
import { signIn } from '../../agent/support.ts'
import { metadataXml } from '../../auth/saml/documents.ts'
import { startGateway, TestAgent } from '../../gateway/agents/support.ts'
import { HostileProvider } from '../../auth/oidc/hostile-provider.ts'
import { runOrThrow } from '../../support/openssh.ts'
import { AUTHORITY, type Identity, issue } from '../../support/openssl.ts'
import { World } from './world.ts'
import { Folder } from '../../support/folder.ts'

/** A leaf and an authority with keys of one size, and the public key as SSH writes it. */
interface Keys {
  readonly leaf: Identity
  readonly authority: Identity
  readonly below: Identity
  readonly sshLine: string
}

const SIZES = { 'RSA 4096': true, 'RSA 4104': false } as const
const NAME = 'keys.example.test'
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

async function keysOf(folder: Folder, key: keyof typeof SIZES): Promise<Keys> {
  const name = key.replace(' ', '')
  const leaf = await issue(folder, { name, key })
  const authority = await issue(folder, { name: `${name}-ca`, key, extensions: AUTHORITY })
  const below = await issue(folder, { name: `${name}-below`, issuer: authority })
  const publicFile = folder.file(`${name}.pub`)
  await runOrThrow('openssl', 'pkey', '-in', leaf.files.key, '-pubout', '-out', publicFile)
  const sshLine = (await runOrThrow('ssh-keygen', '-i', '-m', 'PKCS8', '-f', publicFile)).trim()
  return { leaf, authority, below, sshLine }
}

let world: World
let folder: Folder
let edge = ''
before(async () => {
  world = await World.start()
  folder = new Folder()
  edge = await world.edge([NAME])
})
after(async () => {
  await world[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const created = async (path: string, body: object): Promise<boolean> => {
  const { status, body: answer } = await world.server.api.post(path, body)
  if (status !== 201) assert.match(answer.msg, /4096 bits/)
  return status === 201
}

async function bound(options: object): Promise<boolean> {
  await using agent = await signIn(world.server)
  try {
    await agent.listen({ forwardTo: 1, ...options })
    return true
  } catch (error) {
    assert.match(String(error), /4096 bits/)
    return false
  }
}

/** Whether a key is accepted, by where it is brought. */
const places: Readonly<Record<string, (keys: Keys) => Promise<boolean>>> = {
  'a certificate': ({ leaf }) =>
    created('/tls_certificates', { certificate_pem: leaf.certificate, private_key_pem: leaf.key }),
  'the issuer in a chain': ({ below, authority }) =>
    created('/tls_certificates', {
      certificate_pem: below.certificate + authority.certificate,
      private_key_pem: below.key,
    }),
  'an authority for clients': ({ authority }) =>
    created('/certificate_authorities', { ca_pem: authority.certificate }),
  'the certificate of an agent': async ({ leaf }) => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const encoded = (pem: string): string => Buffer.from(pem).toString('base64')
    const TLSTermination = { cert: encoded(leaf.certificate), key: encoded(leaf.key) }
    const { Error: refusal } = await agent.bind('tls', { TLSTermination })
    if (refusal !== '') assert.match(refusal, /4096 bits/)
    return refusal === ''
  },
  'an authority of an agent': ({ authority }) => bound({ mutualTlsCas: authority.certificate }),
  'an SSH credential': ({ sshLine }) => created('/ssh_credentials', { public_key: sshLine }),
  'an SSH user certificate': async ({ sshLine }) => {
    const { id } = await world.make('/ssh_certificate_authorities')
    const body = { ssh_certificate_authority_id: id, public_key: sshLine }
    const [user, host] = [
      await created('/ssh_user_certificates', body),
      await created('/ssh_host_certificates', body),
    ]
    assert.equal(user, host)
    return user
  },
  'SAML metadata': async ({ leaf }) => {
    const route = await world.route(edge, `/${leaf.certificate.length}`, undefined)
    const path = `/edges/https/${edge}/routes/${route}/saml`
    const { status, body } = await world.server.api.put(path, { idp_metadata: metadataXml({ keys: [leaf] }) })
    if (status !== 200) assert.match(body.msg, /4096 bits/)
    return status === 200
  },
  'the keys of an OpenID provider': async ({ leaf }) => {
    await using provider = await HostileProvider.start()
    const key = createPrivateKey(leaf.key)
    provider.keys = [{ ...createPublicKey(leaf.key).export({ format: 'jwk' }), kid: 'key-1' }]
    provider.idToken = async nonce => {
      const text = `${base64url({ alg: 'RS256', kid: 'key-1' })}.${base64url(provider.claims(nonce))}`
      return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
    }
    return await provider.signIn().then(
      () => true,
      (error: { readonly code: string }) => {
        assert.equal(error.code, 'sign_in_unverified')
        return false
      },
    )
  },
  'a certificate of Amazon SNS': async ({ leaf }) => {
    const answer = { status: 200, headers: {}, body: Buffer.from(leaf.certificate) }
    const certificates = new SnsCertificates({ request: async () => answer })
    const address = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem'
    return typeof (await certificates.keyAt(address, Date.now())) !== 'string'
  },
}

suite('RSA keys', () => {
  const made = new Map<string, Promise<Keys>>()
  for (const [size, accepted] of Object.entries(SIZES))
    for (const [place, accepts] of Object.entries(places))
      test(`${size} is ${accepted ? 'accepted' : 'rejected'} as ${place}`, async () => {
        const keys = made.get(size) ?? keysOf(folder, size as keyof typeof SIZES)
        made.set(size, keys)
        assert.equal(await accepts(await keys), accepted)
      })
})

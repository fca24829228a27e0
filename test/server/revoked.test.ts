import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { disposable, optionsFor, type Service, visit, web } from '../agent/support.ts'
import { connect } from '#agent/index.ts'
import { Receiver } from '../events/support.ts'
import { ssh } from '../ssh/support.ts'
import { createResource } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'
import { newSshKey } from '../support/openssh.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

/** The time for a session to end on a busy machine, and for which a continuing one is observed. */
const CUT_MS = 120_000
const WATCHED_MS = process.env['TEST_LONG'] === '1' ? 1000 : 250
const LOOK_MS = 10
const CALLER = '127.0.0.3'

/** One user with everything that a session can be started with. */
interface Subject {
  readonly name: string
  readonly userId: string
  readonly apiKey: { readonly id: string; readonly token: string }
  readonly credential: { readonly id: string; readonly token: string }
  readonly sshCredential: { readonly id: string }
  readonly keyFile: string
  readonly authority: { readonly id: string }
  readonly certificate: { readonly id: string }
  readonly certificateFile: string
  readonly certifiedKeyFile: string
}

/** A session that is under way. */
interface Running extends AsyncDisposable {
  /** Does it still work? */
  alive(): Promise<boolean>
}

type Start = (subject: Subject) => Promise<Running>

let server: TestServer
let service: Service
let folder: Folder
let count = 0
let agentRule: string
let callRule: string
let control: Receiver

before(async () => {
  server = await startServer({ egress_allow: '127.0.0.0/8' })
  control = await Receiver.start()
  service = await web((_, response) => response.end('here'))
  folder = new Folder()
  agentRule = await restricted('agent', ['127.0.0.1/32'])
  callRule = await restricted('api', ['127.0.0.1/32', `${CALLER}/32`])
  await subscribe(control, server.api.token)
})
after(async () => {
  folder[Symbol.dispose]()
  await service[Symbol.asyncDispose]()
  await control[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** An enforced restriction; returns the id of its last rule. */
async function restricted(type: string, ranges: readonly string[]): Promise<string> {
  const { api } = server
  const policy = await createResource(api, '/ip_policies')
  let rule = ''
  for (const cidr of ranges)
    rule = (await createResource(api, '/ip_policy_rules', { cidr, action: 'allow', ip_policy_id: policy.id }))
      .id
  await createResource(api, '/ip_restrictions', { type, enforced: true, ip_policy_ids: [policy.id] })
  return rule
}

/** Has events that only admins may read sent to a receiver. */
async function subscribe({ url }: Receiver, token: string): Promise<string> {
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await server.api.post(path, body, { token })
    if (answer.status !== 201) throw new Error(`${path} was rejected with ${answer.status}`)
    return answer.body.id
  }
  const destination = await make('/event_destinations', { target: { webhook: { url, batch_size: 10 } } })
  return make('/event_subscriptions', {
    sources: [{ type: 'bot_user_created.v0' }],
    destination_ids: [destination],
  })
}

/** Is an event that happens now delivered? The lane has looked at it when nothing waits after control has it. */
async function isDelivered(subscriptionId: string, receiver: Receiver): Promise<boolean> {
  const bot = await createResource(server.api, '/bot_users')
  const has = ({ events }: Receiver): boolean => events.some(({ object }) => object.id === bot.id)
  await control.until(() => has(control))
  await until(() => server.api.get(`/event_deliveries?subscription_id=${subscriptionId}`), {
    fits: ({ body }) => body.event_deliveries[0]?.waiting === 0,
  })
  return has(receiver)
}

async function newSubject(): Promise<Subject> {
  const { api } = server
  const name = `subject${count++}`
  const { user, token, keyId } = await newMember(api, 'admin')
  const ofUser = { owner_id: user.id }
  const publicKey = await newSshKey(folder, name, 'ed25519')
  const certifiedKey = await newSshKey(folder, `${name}-certified`, 'ed25519')
  const authority = await createResource(api, '/ssh_certificate_authorities', ofUser)
  const certificate = await createResource(api, '/ssh_user_certificates', {
    ssh_certificate_authority_id: authority.id,
    public_key: certifiedKey,
    principals: ['ann'],
    extensions: { 'permit-port-forwarding': '' },
  })
  return {
    name,
    userId: user.id,
    apiKey: { id: keyId, token },
    credential: await createResource(api, '/credentials', ofUser),
    sshCredential: await createResource(api, '/ssh_credentials', { ...ofUser, public_key: publicKey }),
    keyFile: folder.file(name),
    authority,
    certificate,
    certificateFile: await folder.write(`${name}-cert.pub`, certificate.certificate),
    certifiedKeyFile: folder.file(`${name}-certified`),
  }
}

/** A call of the API that only admins may make, from an address of its own. */
async function call(token: string): Promise<number> {
  const sent = request(`${server.api.url}/users`, {
    localAddress: CALLER,
    agent: false,
    headers: { authorization: `Bearer ${token}` },
  }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode ?? 0
}

async function isServed(host: string): Promise<boolean> {
  const page = await visit(`http://${host}:${server.bound.http?.port}/`, { headers: { host } })
  return page.body === 'here'
}

async function isOnline(credentialId: string): Promise<boolean> {
  const { tunnel_sessions: sessions } = (await server.api.get('/tunnel_sessions')).body
  return sessions.some((each: { credential: { id: string } }) => each.credential.id === credentialId)
}

const agentFor = async ({ credential }: Subject) =>
  disposable(await connect({ ...optionsFor(server), authtoken: credential.token }))

const nameOf = (subject: Subject, kind: string): string => `${subject.name}-${kind}`

async function sshSession(name: string, keyFile: string, options: readonly string[] = []) {
  const client = ssh({
    port: server.bound.ssh?.port ?? 0,
    key: keyFile,
    options,
    flags: ['-R', `80:127.0.0.1:${service.port}`],
    command: ['http', '--name', name],
  })
  await client.waitForOutput(/-> -R/)
  return {
    alive: () => isServed(`${name}.adit.localhost`),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

const sessions = {
  'API call': async ({ apiKey }) => {
    const status = await call(apiKey.token)
    if (status !== 200) throw new Error(`rejected with ${status}`)
    return {
      alive: async () => (await call(apiKey.token)) === 200,
      [Symbol.asyncDispose]: async () => undefined,
    }
  },
  'agent session': async subject => {
    const agent = await agentFor(subject)
    return {
      alive: () => isOnline(subject.credential.id),
      [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
    }
  },
  'agent tunnel': async subject => {
    const agent = await agentFor(subject)
    const host = `${nameOf(subject, 'agent')}.adit.localhost`
    try {
      await agent.listen({ proto: 'http', domain: host, forwardTo: service.port })
    } catch (error) {
      await agent.close()
      throw error
    }
    return { alive: () => isServed(host), [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() }
  },
  'ssh session': subject => sshSession(nameOf(subject, 'ssh'), subject.keyFile),
  'ssh certificate session': subject =>
    sshSession(nameOf(subject, 'certificate'), subject.certifiedKeyFile, [
      `CertificateFile=${subject.certificateFile}`,
    ]),
  'event delivery': async ({ apiKey }) => {
    const receiver = await Receiver.start()
    try {
      const subscriptionId = await subscribe(receiver, apiKey.token)
      return {
        alive: () => isDelivered(subscriptionId, receiver),
        [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
      }
    } catch (error) {
      await receiver[Symbol.asyncDispose]()
      throw error
    }
  },
} satisfies Record<string, Start>

type SessionKind = keyof typeof sessions

/** A right that is taken away, and how it is given back if that outlives the subject. */
interface Revocation {
  readonly revoke: (subject: Subject, kind: SessionKind) => Promise<unknown>
  readonly restore?: () => Promise<unknown>
  /** The sessions that end; all others go on. */
  readonly ends: readonly SessionKind[]
}

const OTHERS_ONLY = { acl: ['bind:other.adit.localhost'] }
const everything = Object.keys(sessions) as SessionKind[]
const withCredential = everything.filter(kind => kind !== 'event delivery')
const agents = withCredential.filter(kind => kind !== 'API call')

/** What each kind of session was started with. */
const credentialPath = (subject: Subject, kind: SessionKind): string => {
  if (kind === 'API call') return `/api_keys/${subject.apiKey.id}`
  if (kind === 'ssh session') return `/ssh_credentials/${subject.sshCredential.id}`
  if (kind === 'ssh certificate session') return `/ssh_certificate_authorities/${subject.authority.id}`
  return `/credentials/${subject.credential.id}`
}

async function change(path: string, body: object): Promise<void> {
  const answer = await server.api.patch(path, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

async function remove(path: string): Promise<void> {
  assert.equal((await server.api.delete(path)).status, 204, path)
}

const revocations: Record<string, Revocation> = {
  'its owner is no admin any more': {
    revoke: ({ userId }) => change(`/users/${userId}`, { role: 'member' }),
    ends: ['API call', 'event delivery'],
  },
  'its ACL is narrowed': {
    revoke: async subject => {
      await change(`/credentials/${subject.credential.id}`, OTHERS_ONLY)
      await change(`/ssh_credentials/${subject.sshCredential.id}`, OTHERS_ONLY)
    },
    ends: ['agent tunnel', 'ssh session'],
  },
  'its owner is deleted': {
    revoke: ({ userId }) => remove(`/users/${userId}`),
    ends: everything,
  },
  'its owner is deactivated': {
    revoke: ({ userId }) => change(`/users/${userId}`, { active: false }),
    ends: everything,
  },
  'an IP policy no longer allows its agent': {
    revoke: () => change(`/ip_policy_rules/${agentRule}`, { cidr: '192.0.2.0/24' }),
    restore: () => change(`/ip_policy_rules/${agentRule}`, { cidr: '127.0.0.1/32' }),
    ends: agents,
  },
  'an IP policy no longer allows its caller': {
    revoke: () => change(`/ip_policy_rules/${callRule}`, { cidr: '192.0.2.1/32' }),
    restore: () => change(`/ip_policy_rules/${callRule}`, { cidr: `${CALLER}/32` }),
    ends: ['API call'],
  },
  'its credential is deleted': {
    revoke: async (subject, kind) => {
      if (kind === 'ssh certificate session') await remove(`/ssh_user_certificates/${subject.certificate.id}`)
      await remove(credentialPath(subject, kind))
    },
    ends: withCredential,
  },
}

async function isCut(session: Running, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) {
    if (!(await session.alive())) return true
    await sleep(LOOK_MS)
  }
  return false
}

suite('a session', () => {
  for (const [right, { revoke, restore, ends }] of Object.entries(revocations))
    for (const kind of everything) {
      const isEnd = ends.includes(kind)
      test(`${kind} ${isEnd ? 'ends' : 'continues'} when ${right}`, async () => {
        const subject = await newSubject()
        await using session = await sessions[kind](subject)
        assert.equal(await session.alive(), true)
        try {
          await revoke(subject, kind)
          assert.equal(await isCut(session, isEnd ? CUT_MS : WATCHED_MS), isEnd)
          if (isEnd) await assert.rejects(sessions[kind](subject), 'a new one is rejected')
        } finally {
          await restore?.()
        }
      })
    }
})

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ssh, Upstream } from '../ssh/support.ts'
import { newMember, type Member } from '../support/members.ts'
import { newSshKey } from '../support/openssh.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'
import { until } from '../support/until.ts'

suite('an SSH key that several owners have registered', () => {
  let server: TestServer
  let folder: Folder
  let upstream: Upstream
  let publicKey: string
  let holder: Member
  let other: Member
  const registered = new Map<Member, { readonly id: string }>()

  before(async () => {
    server = await startServer()
    folder = new Folder()
    upstream = await Upstream.echo()
    publicKey = await newSshKey(folder, 'key', 'ed25519')
    holder = await newMember(server.api)
    other = await newMember(server.api)
    // The member without the private key registers first.
    for (const member of [other, holder]) {
      const answer = await register(member)
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      registered.set(member, answer.body)
    }
  })
  after(async () => {
    await upstream[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    await server[Symbol.asyncDispose]()
  })

  const register = ({ token }: Member) =>
    server.api.post('/ssh_credentials', { public_key: publicKey }, { token })

  const signIn = (user: string) =>
    ssh({
      port: server.bound.ssh?.port ?? 0,
      user,
      key: folder.file('key'),
      flags: ['-R', `80:127.0.0.1:${upstream.port}`],
      command: ['http'],
    })

  async function credentialOnline(): Promise<string> {
    // That of the test before may not have been seen to end yet.
    const { body } = await until(() => server.api.get('/tunnel_sessions'), {
      fits: ({ body: found }) => found.tunnel_sessions.length === 1,
    })
    return body.tunnel_sessions[0].credential.id
  }

  const idOf = (member: Member): string => registered.get(member)?.id ?? ''
  const emailOf = async (member: Member): Promise<string> =>
    (await server.api.get(`/users/${member.user.id}`)).body.email

  for (const [title, userName] of [
    ['the id of the owner', async () => holder.user.id],
    ['the e-mail address of the owner', async () => emailOf(holder)],
    ['the id of the credential', async () => idOf(holder)],
  ] as const)
    test(`is assigned to its owner by ${title} as user name`, async () => {
      await using client = signIn(await userName())
      await client.waitForOutput(/-> -R/)
      assert.equal(await credentialOnline(), idOf(holder))
    })

  for (const [title, user] of [
    ['that names none of them', 'ann'],
    ['of an owner that has not registered it', 'usr_2abcDEFghiJKLmnoPQRstuVWXyz'],
  ] as const)
    test(`opens nothing with a user name ${title}`, async () => {
      await using client = signIn(user)
      assert.equal(await client.ended, 255)
      assert.match(client.stderr, /Permission denied \(publickey\)/)
    })

  test('is registered once by each of them, and a refusal names no credential of another owner', async () => {
    const again = await register(holder)
    assert.deepEqual([again.status, again.body.error_code], [400, 'ERR_ADIT_609'])
    assert.ok(again.body.msg.includes(idOf(holder)))
    assert.ok(!again.body.msg.includes(idOf(other)))
  })

  test('opens tunnels of the only owner that is left, with any user name', async () => {
    assert.equal((await server.api.delete(`/ssh_credentials/${idOf(other)}`)).status, 204)
    await using client = signIn('ann')
    await client.waitForOutput(/-> -R/)
    assert.equal(await credentialOnline(), idOf(holder))
  })
})

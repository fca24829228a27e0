import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { buildDestination } from '#events/destinations/index.ts'
import { awsService, signatureFault, type Keys } from './aws-support.ts'
import { events, json, SECRET_MARK, NOW, partsWith, refused, send, service, type Answer } from './support.ts'

const role = 'arn:aws:iam::123456789012:role/events'
const own: Keys = { id: 'OWNKEY', secret: `own${SECRET_MARK}`, token: `token${SECRET_MARK}` }
const target = {
  kinesis: {
    auth: { role: { role_arn: role }, creds: null },
    stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
  },
}
const variables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const

interface Clock {
  now: number
}

/** STS that gives other keys each time, valid for an hour. */
const startSts = (clock: Clock, given: Keys[]) =>
  service((seen, response) => {
    const fault = signatureFault(seen, 'sts', own, clock.now)
    const form = new URLSearchParams(seen.body.toString())
    const xml = (status: number, text: string) =>
      void response.writeHead(status, { 'content-type': 'text/xml' }).end(text)
    if (fault !== undefined)
      return xml(
        403,
        `<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>${own.secret}</Message></Error></ErrorResponse>`,
      )
    if (
      form.get('Action') !== 'AssumeRole' ||
      form.get('Version') !== '2011-06-15' ||
      !form.get('RoleSessionName')
    )
      return xml(400, '<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>')
    if (form.get('RoleArn') !== role)
      return xml(403, '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>')
    const keys = {
      id: `ASIA${given.length}`,
      secret: `role${SECRET_MARK}/+${given.length}`,
      token: `session${SECRET_MARK}==${given.length}`,
    }
    given.push(keys)
    const expires = new Date(clock.now + 3_600_000).toISOString()
    xml(
      200,
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
        <AccessKeyId>${keys.id}</AccessKeyId><SecretAccessKey>${keys.secret}</SecretAccessKey>
        <SessionToken>${keys.token}</SessionToken><Expiration>${expires}</Expiration>
      </Credentials></AssumeRoleResult></AssumeRoleResponse>`,
    )
  })

const takes: Answer = (seen, response) => {
  const { Records } = JSON.parse(seen.body.toString()) as { Records: unknown[] }
  json(response, 200, { FailedRecordCount: 0, Records: Records.map(() => ({ SequenceNumber: '1' })) })
}

async function world(answer: Answer = takes, keysOf = (given: readonly Keys[]) => given.at(-1) ?? own) {
  const clock = { now: NOW }
  const given: Keys[] = []
  const stack = new AsyncDisposableStack()
  const sts = stack.use(await startSts(clock, given))
  const options = { keys: () => keysOf(given), now: () => clock.now }
  const kinesis = stack.use(await awsService('kinesis', { 'Kinesis_20131202.PutRecords': answer }, options))
  const parts = partsWith({ endpoints: { sts: sts.url, kinesis: kinesis.url }, now: () => clock.now })
  return {
    clock,
    sts,
    kinesis,
    parts,
    destination: buildDestination(target, parts),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

suite('a role at AWS', () => {
  const saved = variables.map(name => process.env[name])
  const setOwn = () => {
    const values = [own.id, own.secret, own.token]
    variables.forEach((name, at) => (process.env[name] = values[at]))
  }
  before(setOwn)
  after(() => {
    variables.forEach((name, at) => {
      if (saved[at] === undefined) delete process.env[name]
      else process.env[name] = saved[at]
    })
  })

  test('is assumed with the keys of the server, once, until its keys are about to expire', async () => {
    await using all = await world()
    await Promise.all([send(all.destination, events(2)), send(all.destination, events(2))])
    all.clock.now += 50 * 60_000
    await send(all.destination, events(2))
    assert.equal(all.sts.seen.length, 1)
    all.clock.now += 9 * 60_000
    await send(all.destination, events(2))
    assert.equal(all.sts.seen.length, 2)
    assert.equal(all.kinesis.seen.at(-1)?.headers['x-amz-security-token'], `session${SECRET_MARK}==1`)
  })

  test('is assumed again when the service reports that its keys have expired', async () => {
    let calls = 0
    await using all = await world((seen, response) =>
      calls++ === 0 ? json(response, 400, { __type: 'ExpiredTokenException' }) : takes(seen, response),
    )
    const error = await refused(send(all.destination, events(1)))
    assert.equal(error.permanent, false)
    await send(all.destination, events(1))
    assert.equal(all.sts.seen.length, 2)
  })

  test('that may not be assumed is waited for', async () => {
    await using all = await world()
    const auth = { role: { role_arn: `${role}-other` }, creds: null }
    const destination = buildDestination({ kinesis: { ...target.kinesis, auth } }, all.parts)
    const error = await refused(send(destination, events(1)))
    assert.deepEqual(
      [error.misconfigured, error.message],
      [true, 'AWS STS responded with 403 (AccessDenied).'],
    )
    assert.equal(all.kinesis.seen.length, 0)
  })

  test('cannot be assumed by a server without keys, with the reason', async () => {
    await using all = await world()
    delete process.env['AWS_SECRET_ACCESS_KEY']
    const error = await refused(send(all.destination, events(1))).finally(setOwn)
    assert.deepEqual([error.permanent, error.misconfigured], [false, true])
    assert.match(error.message, /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set/)
    await send(all.destination, events(1))
  })

  test('is retried when STS cannot be reached, is throttled, refuses or gives no keys', async () => {
    for (const [status, text] of [
      [400, '<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>'],
      [400, '<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>'],
      [500, 'oops'],
      [200, '<AssumeRoleResponse/>'],
    ] as const) {
      await using sts = await service((_, response) => void response.writeHead(status).end(text))
      const destination = buildDestination(target, partsWith({ endpoints: { sts: sts.url } }))
      assert.equal((await refused(send(destination, events(1)))).permanent, false, text)
    }
    const unreachable = buildDestination(target, partsWith({ endpoints: { sts: 'http://127.0.0.1:1' } }))
    assert.equal((await refused(send(unreachable, events(1)))).permanent, false)
  })
})

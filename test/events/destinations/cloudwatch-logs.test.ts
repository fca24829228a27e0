import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { buildDestination } from '#events/destinations/index.ts'
import { auth, awsService } from './aws-support.ts'
import { event, events, json, NOW, partsWith, refused, send, type Answer } from './support.ts'

const now = () => NOW
const DAY = 24 * 3_600_000
const target = {
  cloudwatch_logs: { auth, log_group_arn: 'arn:aws:logs:eu-west-1:123456789012:log-group:/adit/events:*' },
}

interface Put {
  readonly logGroupName: string
  readonly logStreamName: string
  readonly logEvents: readonly { readonly timestamp: number; readonly message: string }[]
}

/** A log group that takes what the real one takes. */
async function logGroup({ hasStream = false, put }: { hasStream?: boolean; put?: Answer } = {}) {
  const kept: string[] = []
  let streams = hasStream ? 1 : 0
  const server = await awsService(
    'logs',
    {
      'Logs_20140328.CreateLogStream': (seen, response) => {
        const { logGroupName } = JSON.parse(seen.body.toString()) as Put
        if (logGroupName !== '/adit/events')
          return json(response, 400, { __type: 'ResourceNotFoundException' })
        if (streams++ > 0) return json(response, 400, { __type: 'ResourceAlreadyExistsException' })
        response.end()
      },
      'Logs_20140328.PutLogEvents': (seen, response) => {
        const { logGroupName, logStreamName, logEvents } = JSON.parse(seen.body.toString()) as Put
        if (logGroupName !== '/adit/events' || logStreamName !== 'adit' || streams === 0)
          return json(response, 400, { __type: 'ResourceNotFoundException' })
        if (put) return put(seen, response)
        const times = logEvents.map(({ timestamp }) => timestamp)
        const bytes = logEvents.reduce((sum, { message }) => sum + Buffer.byteLength(message) + 26, 0)
        const inOrder = times.every((time, at) => at === 0 || time >= (times[at - 1] ?? 0))
        const span = (times.at(-1) ?? 0) - (times[0] ?? 0)
        if (bytes > 1_048_576 || times.length < 1 || times.length > 10_000 || !inOrder || span > DAY)
          return json(response, 400, { __type: 'InvalidParameterException' })
        const old = times.filter(time => time < NOW - 14 * DAY).length
        const fresh = times.findIndex(time => time > NOW + 2 * 3_600_000)
        kept.push(...logEvents.slice(old, fresh < 0 ? undefined : fresh).map(({ message }) => message))
        const info = {
          ...(old > 0 && { tooOldLogEventEndIndex: old }),
          ...(fresh >= 0 && { tooNewLogEventStartIndex: fresh }),
        }
        json(response, 200, Object.keys(info).length > 0 ? { rejectedLogEventsInfo: info } : {})
      },
    },
    { now },
  )
  const destination = buildDestination(target, partsWith({ endpoints: { logs: server.url } }))
  const operations = () => server.seen.map(({ headers }) => String(headers['x-amz-target']).split('.')[1])
  return { kept, destination, operations, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const aged = (id: string, days: number) => event(id, { at: new Date(NOW - days * DAY).toISOString() })

suite('CloudWatch Logs', () => {
  test('makes its log stream when there is none, once', async () => {
    await using group = await logGroup()
    const batch = events(3)
    await send(group.destination, batch)
    await send(group.destination, batch)
    assert.deepEqual(group.operations(), ['PutLogEvents', 'CreateLogStream', 'PutLogEvents', 'PutLogEvents'])
    assert.deepEqual(
      group.kept.slice(0, 3),
      batch.map(({ body }) => body),
    )
  })

  test('does not mind that another server made the stream first', async () => {
    let puts = 0
    await using group = await logGroup({
      hasStream: true,
      put: (_, response) =>
        puts++ === 0 ? json(response, 400, { __type: 'ResourceNotFoundException' }) : json(response, 200, {}),
    })
    await send(group.destination, events(1))
    assert.deepEqual(group.operations(), ['PutLogEvents', 'CreateLogStream', 'PutLogEvents'])
  })

  test('waits for a log group that is not there', async () => {
    await using group = await logGroup({
      put: (_, response) => json(response, 400, { __type: 'ResourceNotFoundException' }),
    })
    const error = await refused(send(group.destination, events(1)))
    assert.deepEqual([error.permanent, error.misconfigured, error.taken.size], [false, true, 0])
  })

  test('orders events by their time and makes a call for each day', async () => {
    await using group = await logGroup({ hasStream: true })
    await send(group.destination, [aged('c', 0), aged('a', 3), aged('b', 0.5)])
    assert.deepEqual(group.operations(), ['PutLogEvents', 'PutLogEvents'])
    assert.deepEqual(
      group.kept.map(text => (JSON.parse(text) as { event_id: string }).event_id),
      ['a', 'b', 'c'],
    )
  })

  test('fails for good only for events that are too old or too new', async () => {
    await using group = await logGroup({ hasStream: true })
    const error = await refused(
      send(group.destination, [aged('old', 20), aged('fine', 0), aged('new', -0.5)]),
    )
    assert.deepEqual([error.permanent, [...error.taken]], [true, ['fine']])
  })

  test('has what the first day took when the second one fails', async () => {
    let puts = 0
    await using group = await logGroup({
      hasStream: true,
      put: (_, response) =>
        puts++ === 0 ? json(response, 200, {}) : json(response, 400, { __type: 'ThrottlingException' }),
    })
    const error = await refused(send(group.destination, [aged('a', 3), aged('b', 0)]))
    assert.deepEqual([error.permanent, [...error.taken]], [false, ['a']])
  })

  test('keeps full batches below the limit, and fails for good only for what is larger', async () => {
    await using group = await logGroup({ hasStream: true })
    const { maxEvents, maxBytes } = group.destination
    const pad = Math.floor(maxBytes / maxEvents) - Buffer.byteLength(event('ev_0000').body)
    await send(
      group.destination,
      Array.from({ length: maxEvents }, (_, at) => event(`ev_${String(at).padStart(4, '0')}`, { pad })),
    )
    const error = await refused(send(group.destination, [event('a'), event('b', { pad: 1_048_576 })]))
    assert.deepEqual([error.permanent, [...error.taken]], [true, ['a']])
  })
})

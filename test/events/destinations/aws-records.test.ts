import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { blame, type Fault } from '#events/destinations/failures.ts'
import { buildDestination } from '#events/destinations/index.ts'
import type { EventTarget } from '#events/destinations/target.ts'
import { auth, awsService, KEYS } from './aws-support.ts'
import { event, events, json, NOW, partsWith, refused, send, type Answer, type Seen } from './support.ts'

const now = () => NOW
const stream = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
const delivery = 'arn:aws:firehose:eu-west-1:123456789012:deliverystream/events'

interface Put {
  readonly DeliveryStreamName?: string
  readonly StreamARN?: string
  readonly Records: readonly { readonly Data: string; readonly PartitionKey?: string }[]
}

interface Service {
  readonly name: string
  readonly operation: string
  readonly target: Partial<EventTarget>
  /** Where the answer for each record stands. */
  readonly list: string
  readonly ending: string
  readonly maxRecord: number
  readonly maxCall: number
}

const services: readonly Service[] = [
  {
    name: 'firehose',
    operation: 'Firehose_20150804.PutRecordBatch',
    target: { firehose: { auth, delivery_stream_arn: delivery } },
    list: 'RequestResponses',
    ending: '\n',
    maxRecord: 1_024_000,
    maxCall: 4 * 1_048_576,
  },
  {
    name: 'kinesis',
    operation: 'Kinesis_20131202.PutRecords',
    target: { kinesis: { auth, stream_arn: stream } },
    list: 'Records',
    ending: '',
    maxRecord: 1_048_576,
    maxCall: 5 * 1_048_576,
  },
]

const putOf = (seen: Seen): Put => JSON.parse(seen.body.toString()) as Put

for (const { name, operation, target, list, ending, maxRecord, maxCall } of services) {
  /** Accepts what the real service accepts; `fails` selects the rejected records of a call. */
  const put =
    (fails: (at: number, call: number) => boolean = () => false, calls = { count: 0 }): Answer =>
    (seen, response) => {
      const { Records, DeliveryStreamName, StreamARN } = putOf(seen)
      const sizes = Records.map(
        ({ Data, PartitionKey = '' }) => Buffer.from(Data, 'base64').length + PartitionKey.length,
      )
      const isKnown = name === 'firehose' ? DeliveryStreamName === 'events' : StreamARN === stream
      const isKeyed =
        name === 'firehose' || Records.every(({ PartitionKey = '' }) => /^.{1,256}$/.test(PartitionKey))
      const isSmall =
        sizes.every(size => size <= maxRecord) && sizes.reduce((sum, size) => sum + size, 0) <= maxCall
      if (!isKnown || !isKeyed || !isSmall || Records.length < 1 || Records.length > 500)
        return json(response, 400, { __type: 'ValidationException' })
      const call = calls.count++
      const answers = Records.map((_, at) =>
        fails(at, call)
          ? { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: `slow down ${KEYS.secret}` }
          : { RecordId: `r${at}` },
      )
      const failed = answers.filter(answer => 'ErrorCode' in answer).length
      json(response, 200, { FailedPutCount: failed, FailedRecordCount: failed, [list]: answers })
    }

  const start = (answer: Answer) => awsService(name, { [operation]: answer }, { now })
  const build = (url: string) => buildDestination(target, partsWith({ endpoints: { [name]: url } }))

  suite(name, () => {
    test('takes a signed batch, with the events in their order', async () => {
      await using server = await start(put())
      const batch = events(500)
      await send(build(server.url), batch)
      assert.deepEqual(
        putOf(server.seen[0] ?? assert.fail('no call')).Records.map(({ Data }) =>
          Buffer.from(Data, 'base64').toString(),
        ),
        batch.map(({ body }) => body + ending),
      )
    })

    test('keeps the connection for the next batch', async () => {
      await using server = await start(put())
      const destination = build(server.url)
      await send(destination, events(2))
      await send(destination, events(2))
      assert.equal(server.seen.length, 2)
      assert.equal(server.connections(), 1)
      destination.close()
    })

    test('reports which records were taken when some failed, and sends only those again', async () => {
      await using server = await start(put((at, call) => call === 0 && at % 2 === 1))
      const destination = build(server.url)
      const batch = events(5)
      const error = await refused(send(destination, batch))
      assert.deepEqual([error.permanent, [...error.taken]], [false, ['ev_0', 'ev_2', 'ev_4']])
      assert.match(error.message, /did not accept 2 of 5 records \(ProvisionedThroughputExceededException\)/)
      await send(
        destination,
        batch.filter(({ id }) => !error.taken.has(id)),
      )
      assert.equal(putOf(server.seen[1] ?? assert.fail('no call')).Records.length, 2)
    })

    test('fails for good only for the event that is too large', async () => {
      await using server = await start(put())
      const error = await refused(
        send(build(server.url), [event('a'), event('b', { pad: maxRecord }), event('c')]),
      )
      assert.deepEqual([error.permanent, [...error.taken]], [true, ['a', 'c']])
      assert.match(error.message, /1 of the batch is larger/)
    })

    test('has limits that keep a whole batch below what the service takes', async () => {
      await using server = await start(put())
      const destination = build(server.url)
      const each = Math.floor(destination.maxBytes / destination.maxEvents)
      const base = Buffer.byteLength(event('ev_000').body)
      const batch = Array.from({ length: destination.maxEvents }, (_, at) =>
        event(`ev_${String(at).padStart(3, '0')}`, { pad: each - base }),
      )
      await send(destination, batch)
    })

    const refusals: readonly [string, Answer, Fault, number | undefined][] = [
      [
        'throttling',
        (_, response) => json(response, 400, { __type: 'com.amazonaws#ThrottlingException' }),
        'passing',
        undefined,
      ],
      [
        'a failure',
        (_, response) => json(response, 500, { __type: 'InternalFailure' }),
        'passing',
        undefined,
      ],
      [
        'a pause that is asked for',
        (_, response) =>
          json(response.setHeader('retry-after', '7'), 503, { __type: 'ServiceUnavailableException' }),
        'passing',
        7000,
      ],
      [
        'a stream that is not there',
        (_, response) => json(response, 400, { __type: 'ResourceNotFoundException' }),
        'settings',
        undefined,
      ],
      [
        'records that are not valid',
        (_, response) => json(response, 400, { __type: 'InvalidArgumentException' }),
        'event',
        undefined,
      ],
      [
        'keys that have expired',
        (_, response) => json(response, 403, { __type: 'ExpiredToken' }),
        'passing',
        undefined,
      ],
      [
        'keys that are not known',
        (_, response) => json(response, 400, { __type: 'UnrecognizedClientException' }),
        'settings',
        undefined,
      ],
      [
        'missing rights',
        (_, response) => json(response, 403, { __type: 'AccessDeniedException' }),
        'settings',
        undefined,
      ],
      ['an answer that is not JSON', (_, response) => void response.end('<html>'), 'passing', undefined],
      ['an answer without the records', (_, response) => json(response, 200, {}), 'passing', undefined],
      ['a connection that breaks', (_, response) => void response.destroy(), 'passing', undefined],
    ]
    for (const [what, answer, fault, wait] of refusals) {
      test(`reports ${what} as a fault of: ${fault}`, async () => {
        await using server = await start(answer)
        const error = await refused(send(build(server.url), events(3)))
        const { permanent, misconfigured } = error
        assert.deepEqual({ permanent, misconfigured }, blame(fault))
        assert.deepEqual([error.retryAfterMs, error.taken.size], [wait, 0])
      })
    }

    test('waits for other keys when they are wrong, and the secret is not logged', async () => {
      await using server = await awsService(
        name,
        {},
        { now, keys: () => ({ ...KEYS, secret: `other${KEYS.secret}` }) },
      )
      const error = await refused(send(build(server.url), events(1)))
      assert.deepEqual([error.permanent, error.misconfigured], [false, true])
      assert.match(error.message, /responded with 403 \(InvalidSignatureException\)/)
    })
  })
}

test('a destination with an invalid ARN reports it when an event is sent', async () => {
  const target = { kinesis: { auth, stream_arn: 'arn:aws:kinesis:evil.example/:123456789012:stream/x' } }
  const error = await refused(send(buildDestination(target, partsWith()), events(1)))
  assert.deepEqual([error.permanent, error.message], [false, "The destination's ARN is not one of kinesis."])
})

import type { Destination, DestinationParts } from '#events/destination.ts'
import { arnOf } from '#events/destinations/aws/arn.ts'
import { credentialsOf } from '#events/destinations/aws/credentials.ts'
import { checkRecords } from '#events/destinations/aws/records.ts'
import { AwsService } from '#events/destinations/aws/service.ts'
import { sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const MAX_RECORDS = 500
const MAX_KEY = 256
/** Partition keys count too. */
const MAX_BYTES = 5 * 1_048_576 - MAX_RECORDS * MAX_KEY
const MAX_RECORD = 1_048_576 - MAX_KEY

/** Kinesis Data Streams. The partition key is the event id, so that events spread over all shards. */
export function kinesis(
  { auth, stream_arn: stream }: TargetOf<'kinesis'>,
  parts: DestinationParts,
): Destination {
  const arn = arnOf(stream, 'kinesis')
  const credentials = credentialsOf(auth, arn, parts)
  const service = new AwsService({ name: 'kinesis', api: 'Kinesis_20131202', arn, credentials, parts })
  return {
    maxEvents: MAX_RECORDS,
    maxBytes: MAX_BYTES,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: MAX_RECORD, service: 'AWS kinesis' }, async events => {
        const Records = events.map(({ id, body }) => ({
          Data: Buffer.from(body).toString('base64'),
          PartitionKey: id.slice(0, MAX_KEY),
        }))
        const answer = await service.call('PutRecords', { StreamARN: stream, Records }, signal)
        checkRecords('AWS kinesis', events, answer['Records'])
      }),
    close: () => service.close(),
  }
}

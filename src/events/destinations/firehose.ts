import type { Destination, DestinationParts } from '#events/destination.ts'
import { arnOf } from '#events/destinations/aws/arn.ts'
import { credentialsOf } from '#events/destinations/aws/credentials.ts'
import { checkRecords } from '#events/destinations/aws/records.ts'
import { AwsService } from '#events/destinations/aws/service.ts'
import { sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const MAX_RECORDS = 500
/** Of all records, before base64, and without the line breaks that are added. */
const MAX_BYTES = 4 * 1_048_576 - MAX_RECORDS
const MAX_RECORD = 1_024_000 - 1

/** Amazon Data Firehose. Each event ends with a line break, as it concatenates records. */
export function firehose(
  { auth, delivery_stream_arn: stream }: TargetOf<'firehose'>,
  parts: DestinationParts,
): Destination {
  const arn = arnOf(stream, 'firehose')
  const credentials = credentialsOf(auth, arn, parts)
  const service = new AwsService({ name: 'firehose', api: 'Firehose_20150804', arn, credentials, parts })
  const DeliveryStreamName = arn.resource.replace(/^deliverystream\//, '')
  return {
    maxEvents: MAX_RECORDS,
    maxBytes: MAX_BYTES,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: MAX_RECORD, service: 'AWS firehose' }, async events => {
        const Records = events.map(({ body }) => ({ Data: Buffer.from(`${body}\n`).toString('base64') }))
        const answer = await service.call('PutRecordBatch', { DeliveryStreamName, Records }, signal)
        checkRecords('AWS firehose', events, answer['RequestResponses'])
      }),
    close: () => service.close(),
  }
}

import { DeliveryError, type Destination, type DestinationParts } from '#events/destination.ts'
import { azureLogsIngestion } from '#events/destinations/azure-logs-ingestion.ts'
import { cloudwatchLogs } from '#events/destinations/cloudwatch-logs.ts'
import { datadog } from '#events/destinations/datadog.ts'
import { debug } from '#events/destinations/debug.ts'
import { unusable } from '#events/destinations/failures.ts'
import { file } from '#events/destinations/file.ts'
import { firehose } from '#events/destinations/firehose.ts'
import { kinesis } from '#events/destinations/kinesis.ts'
import { otlp } from '#events/destinations/otlp.ts'
import { syslog } from '#events/destinations/syslog.ts'
import type { EventTarget, TargetOf } from '#events/destinations/target.ts'
import { webhook } from '#events/destinations/webhook.ts'

type Builders = {
  readonly [Name in keyof EventTarget]: (target: TargetOf<Name>, parts: DestinationParts) => Destination
}

const builders: Builders = {
  firehose,
  kinesis,
  cloudwatch_logs: cloudwatchLogs,
  datadog,
  azure_logs_ingestion: azureLogsIngestion,
  webhook,
  otlp,
  syslog,
  file,
  debug,
}

/** The destination of a stored target, with its secrets decrypted. An unusable one fails on every send. */
export function buildDestination(target: Partial<EventTarget>, parts: DestinationParts): Destination {
  try {
    return built(target, parts)
  } catch (error) {
    if (error instanceof DeliveryError) return refusing(error)
    throw error
  }
}

function built(target: Partial<EventTarget>, parts: DestinationParts): Destination {
  for (const name of Object.keys(builders) as (keyof EventTarget)[]) {
    const given = target[name] ?? undefined
    if (given === undefined) continue
    const build = builders[name] as (target: unknown, parts: DestinationParts) => Destination
    return build(given, parts)
  }
  throw unusable('The destination has no known target.')
}

const refusing = (error: DeliveryError): Destination => ({
  maxEvents: 1000,
  maxBytes: 1_048_576,
  async send() {
    throw error
  },
  close: () => undefined,
})

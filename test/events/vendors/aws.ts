import type { ResourceBody } from '#contract/body.ts'
import { secretText } from '../../support/secrets.ts'
import { awsService, signatureFault, type Keys } from '../destinations/aws-support.ts'
import { json, service, type Answer } from '../destinations/support.ts'
import { contentOf, readEvent, refused, type ReceivedEvent, type Stage, type Vendor } from './vendor.ts'

const userKeys: Keys = { id: 'AKIDEXAMPLE', secret: secretText('aws') }
const roleKeys: Keys = { id: 'ASIAROLE', secret: secretText('aws role'), token: secretText('aws session') }
const ownKeys: Keys = { id: 'SERVERKEY', secret: secretText('aws of the server') }
const ROLE = 'arn:aws:iam::123456789012:role/events'

/** The keys of the server itself, with which it assumes roles. */
export const awsEnvironment = { AWS_ACCESS_KEY_ID: ownKeys.id, AWS_SECRET_ACCESS_KEY: ownKeys.secret }

const arn = (name: string, resource: string) => `arn:aws:${name}:eu-west-1:123456789012:${resource}`
const byKeys = (secret: string) => ({
  auth: { role: null, creds: { aws_access_key_id: userKeys.id, aws_secret_access_key: secret } },
})
const byRole = (role_arn: string) => ({ auth: { role: { role_arn }, creds: null } })

/** Gives keys for the one role, to the server that has signed with its own. */
const sts: Answer = (seen, response) => {
  const xml = (status: number, text: string) => void response.writeHead(status).end(text)
  const deny = (code: string) =>
    xml(403, `<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>`)
  if (signatureFault(seen, 'sts', ownKeys, Date.now()) !== undefined) return deny('SignatureDoesNotMatch')
  if (new URLSearchParams(seen.body.toString()).get('RoleArn') !== ROLE) return deny('AccessDenied')
  const { id, secret, token } = roleKeys
  const expires = new Date(Date.now() + 3_600_000).toISOString()
  xml(
    200,
    `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>${id}</AccessKeyId>
    <SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${token}</SessionToken>
    <Expiration>${expires}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  )
}

type Take = (events: ReceivedEvent[]) => Answer

/** Firehose and Kinesis take records, and answer for each. */
const records =
  (list: string): Take =>
  events =>
  (seen, response) => {
    const { Records } = contentOf(seen) as { Records: { Data: string }[] }
    events.push(...Records.map(({ Data }) => readEvent(Buffer.from(Data, 'base64').toString())))
    const answers = Records.map((_, at) => ({ RecordId: String(at), SequenceNumber: String(at) }))
    json(response, 200, { FailedPutCount: 0, FailedRecordCount: 0, [list]: answers })
  }

const logs: Take = events => (seen, response) => {
  const { logEvents } = contentOf(seen) as { logEvents: { message: string }[] }
  events.push(...logEvents.map(({ message }) => readEvent(message)))
  json(response, 200, {})
}

interface Options {
  /** As targets name it, and as AWS does. */
  readonly name: string
  readonly service: string
  readonly operation: string
  readonly take: Take
  readonly place: ResourceBody
}

async function start({ stack, endpoints }: Stage, options: Options, keys: Keys): Promise<ReceivedEvent[]> {
  const { service: name, operation, take } = options
  const events: ReceivedEvent[] = []
  const answers = { [operation]: take(events) }
  const started = await awsService(name, answers, { keys: () => keys, now: Date.now })
  endpoints.set(name, stack.use(started).url)
  return events
}

/** One that is called with the keys of a user. */
async function startWithKeys(stage: Stage, options: Options): Promise<Vendor> {
  const { name, service: aws, operation, place } = options
  const events = await start(stage, options, userKeys)
  const [, short] = operation.split('.')
  const refusal = refused(
    new RegExp(`AWS ${aws} responded with 403 \\(InvalidSignatureException\\) to ${short}\\.$`),
  )
  return {
    name,
    target: { ...byKeys(userKeys.secret), ...place },
    shown: { ...byKeys(''), ...place },
    wrong: { target: { ...byKeys(secretText('wrong aws')), ...place }, refusal },
    arrived: () => events,
  }
}

/** One that is called with the keys of a role, which STS gives. */
async function startWithRole(stage: Stage, options: Options): Promise<Vendor> {
  const { name, place } = options
  const events = await start(stage, options, roleKeys)
  stage.endpoints.set('sts', stage.stack.use(await service(sts)).url)
  const target = { ...byRole(ROLE), ...place }
  const refusal = refused(/AWS STS responded with 403 \(AccessDenied\)\.$/)
  return {
    name,
    target,
    shown: target,
    wrong: { target: { ...byRole(`${ROLE}-of-others`), ...place }, refusal },
    arrived: () => events,
  }
}

export const startAws = async (stage: Stage): Promise<Vendor[]> => [
  await startWithKeys(stage, {
    name: 'firehose',
    service: 'firehose',
    operation: 'Firehose_20150804.PutRecordBatch',
    take: records('RequestResponses'),
    place: { delivery_stream_arn: arn('firehose', 'deliverystream/events') },
  }),
  await startWithKeys(stage, {
    name: 'cloudwatch_logs',
    service: 'logs',
    operation: 'Logs_20140328.PutLogEvents',
    take: logs,
    place: { log_group_arn: arn('logs', 'log-group:/adit/events') },
  }),
  await startWithRole(stage, {
    name: 'kinesis',
    service: 'kinesis',
    operation: 'Kinesis_20131202.PutRecords',
    take: records('Records'),
    place: { stream_arn: arn('kinesis', 'stream/events') },
  }),
]

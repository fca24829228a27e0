import { createHash, createHmac } from 'node:crypto'
import { SECRET_MARK, json, service, type Answer, type Seen } from './support.ts'

export interface Keys {
  readonly id: string
  readonly secret: string
  readonly token?: string
}

export const KEYS: Keys = { id: 'AKIDEXAMPLE', secret: `wJalr${SECRET_MARK}/K7MDENG+bPxRfiCY` }
export const auth = {
  role: null,
  creds: { aws_access_key_id: KEYS.id, aws_secret_access_key: KEYS.secret },
}

const hex = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

/** Recomputes the signature from the received bytes, as AWS does, and returns what is wrong with it. */
export function signatureFault(
  seen: Seen,
  name: string,
  { id, secret, token }: Keys,
  now: number,
): string | undefined {
  const given = String(seen.headers.authorization)
  const [, who, day = '', region = '', scoped = '', list = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      given,
    ) ?? []
  const stamp = String(seen.headers['x-amz-date'])
  if (who !== id || scoped !== name || region !== 'eu-west-1') return `scope ${given.slice(0, 60)}`
  const date = stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  if (!(Math.abs(Date.parse(date) - now) < 300_000) || !stamp.startsWith(day)) return `date ${stamp}`
  if (seen.headers['x-amz-security-token'] !== token) return 'token'
  const names = list.split(';')
  const must = [
    'content-type',
    'host',
    ...Object.keys(seen.headers).filter(header => header.startsWith('x-amz-')),
  ]
  if (must.some(header => !names.includes(header))) return `unsigned headers: ${list}`
  let canonical = `${seen.method}\n${seen.path}\n\n`
  for (const header of names) canonical += `${header}:${String(seen.headers[header])}\n`
  canonical += `\n${list}\n${hex(seen.body)}`
  let key: Buffer | string = `AWS4${secret}`
  for (const part of [day, region, scoped, 'aws4_request'])
    key = createHmac('sha256', key).update(part).digest()
  const text = `AWS4-HMAC-SHA256\n${stamp}\n${day}/${region}/${scoped}/aws4_request\n${hex(canonical)}`
  return createHmac('sha256', key).update(text).digest('hex') === signature ? undefined : 'signature'
}

/** An AWS service that rejects unsigned requests and responds by operation name. */
export const awsService = (
  name: string,
  operations: Readonly<Record<string, Answer>>,
  { keys = () => KEYS, now }: { readonly keys?: () => Keys; readonly now: () => number },
) =>
  service((seen, response) => {
    const fault = signatureFault(seen, name, keys(), now())
    // Like the real service, the rejection repeats the request.
    const message = `The canonical string should have been ${JSON.stringify(seen.headers)} ${keys().secret}`
    if (fault !== undefined)
      return json(response, 403, { __type: 'InvalidSignatureException', message, fault })
    if (seen.headers['content-type'] !== 'application/x-amz-json-1.1') return json(response, 404, {})
    const answer = operations[String(seen.headers['x-amz-target'])]
    if (!answer) return json(response, 400, { __type: 'com.amazon.coral.service#UnknownOperationException' })
    answer(seen, response)
  })

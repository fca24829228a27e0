import { createHmac, hash } from 'node:crypto'
import type { Secret } from '#base/secrets.ts'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: Secret
  /** Of a role that was assumed. */
  readonly sessionToken?: Secret | undefined
}

export interface AwsRequest {
  readonly method: string
  readonly url: URL
  /** Names in lower case. All of them are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

interface AwsScope {
  readonly service: string
  readonly region: string
  readonly keys: AwsKeys
  readonly now: number
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** RFC 3986: encodeURIComponent leaves more characters unescaped than AWS. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const canonicalPath = ({ pathname }: URL): string => pathname.split('/').map(encoded).join('/')

const canonicalQuery = ({ searchParams }: URL): string =>
  [...searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted(byText)
    .join('&')

/** The request headers with those of AWS Signature Version 4. */
export function signed(
  request: AwsRequest,
  { service, region, keys, now }: AwsScope,
): Record<string, string> {
  const moment = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  const day = moment.slice(0, 8)
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-date': moment,
    ...(keys.sessionToken && { 'x-amz-security-token': keys.sessionToken.reveal() }),
  }
  const names = Object.keys(headers).toSorted(byText)
  const lines = names.map(name => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`)
  const canonical = [
    request.method,
    canonicalPath(request.url),
    canonicalQuery(request.url),
    lines.join(''),
    names.join(';'),
    hash('sha256', request.body, 'hex'),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = [ALGORITHM, moment, scope, hash('sha256', canonical, 'hex')].join('\n')
  const steps = [region, service, 'aws4_request']
  const key = steps.reduce(hmac, hmac(`AWS4${keys.secretAccessKey.reveal()}`, day))
  const signature = hmac(key, text).toString('hex')
  const authorization = `${ALGORITHM} Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...headers, authorization }
}

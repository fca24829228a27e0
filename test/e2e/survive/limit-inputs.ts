import { randomBytes } from 'node:crypto'
import { nameIdFormats } from '#contract/modules/saml.ts'

/** Inputs that take the most of what their limits allow. */

/** As many copies as fit. */
const upTo = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length))

export const patterns: Readonly<Record<string, readonly string[]>> = {
  repetition: ['[ab]{0,330}[xy]$', '(?:a?b?){40}[xy]$'],
  'Unicode classes': ['(?i)[^\\pL]{0,200}[\\pL\\pN]{0,100}[xy]$', '[^\\p{Lu}]'.repeat(5)],
  'case folding': [`(?i)${'a'.repeat(1000)}b`],
  'plain texts': Array.from({ length: 60 }, (_, at) => `${'ab'.repeat(60)}${at}`),
}

/** A User-Agent that keeps most ways of a pattern open; another one each time, so that no verdict is known. */
export const userAgent = (attempt: number): string => `${'ab'.repeat(500)}${attempt}`

export const filters: Readonly<Record<string, string>> = {
  comparisons: upTo('ev.conn.server_port==1||', 4000) + 'true',
  patterns: `ev.conn.server_name.matches("[ab]{0,160}[xy]$")`,
  list: `ev.conn.server_port in [${Array.from({ length: 490 }, (_, at) => at).join()}]`,
  nesting: `${'('.repeat(30)}true${')'.repeat(30)}`,
  negations: `${'!'.repeat(28)}true`,
}

export const bodies: Readonly<Record<string, string>> = {
  text: JSON.stringify({ metadata: 'x'.repeat(1_048_000) }),
  'escaped text': `{"metadata":"${upTo('\\u0041', 1_048_000)}"}`,
  'half characters': `{"metadata":"${upTo('\\ud83d\\ude00', 1_048_000)}"}`,
  keys: `{${Array.from({ length: 2400 }, (_, at) => `"k${at}":"\\ud83d\\ude00"`).join()}}`,
  values: `{"metadata":[${Array.from({ length: 4900 }, () => '""').join()}]}`,
  blanks: `{${' '.repeat(1_048_000)}}`,
  levels: `{"a":${'[{"a":'.repeat(15)}0${'}]'.repeat(15)}}`,
}

export const headers = (value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`x-header-${at}`, value]))

const md = 'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"'
const entity = (content: string): string =>
  `<md:EntityDescriptor ${md} entityID="https://idp.example">${content}</md:EntityDescriptor>`

export const metadata = (certificate: string): Readonly<Record<string, string>> => ({
  elements: entity('<md:a>x</md:a>'.repeat(600)),
  attributes: entity(`<md:a ${Array.from({ length: 60 }, (_, at) => `a${at}="x"`).join(' ')}/>`.repeat(40)),
  namespaces: entity(Array.from({ length: 380 }, (_, at) => `<a xmlns:n${at}="u${at}"/>`).join('')),
  references: entity(`<md:a>${'&amp;'.repeat(6800)}</md:a>`),
  comments: entity('<!-- -->'.repeat(600)),
  text: entity(`<md:a>${'x'.repeat(261_000)}</md:a>`),
  certificates: entity(
    `<md:IDPSSODescriptor><md:KeyDescriptor><X509Certificate xmlns="http://www.w3.org/2000/09/xmldsig#">${certificate}</X509Certificate></md:KeyDescriptor></md:IDPSSODescriptor>`.repeat(
      40,
    ),
  ),
})

const message = (content: string): string =>
  `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="a" Version="2.0">${content}</samlp:Response>`

export const messages: Readonly<Record<string, string>> = {
  elements: message('<a>x</a>'.repeat(600)),
  attributes: message(`<a ${Array.from({ length: 60 }, (_, at) => `a${at}="x"`).join(' ')}/>`.repeat(40)),
  namespaces: message(Array.from({ length: 380 }, (_, at) => `<a xmlns:n${at}="u${at}"/>`).join('')),
  'too many elements': message('<a>x</a>'.repeat(20_000)),
  text: message(`<a>${'x'.repeat(260_000)}</a>`),
  names: message(`<a>${nameIdFormats[0]}</a>`.repeat(200)),
}

const MEBIBYTE = 1_048_576

export const webhooks: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  github: { type: 'application/json', body: randomBytes(10 * MEBIBYTE) },
  hubspot: { type: 'application/json', body: randomBytes(10 * MEBIBYTE) },
  sns: { type: 'application/json', body: Buffer.from(`{"a":[${upTo('0,', 2 * MEBIBYTE - 100)}0]}`) },
  mailgun: { type: 'application/json', body: Buffer.from(`{"a":[${upTo('[],', MEBIBYTE - 100)}0]}`) },
  twilio: {
    type: 'application/x-www-form-urlencoded',
    body: Buffer.from(Array.from({ length: 999 }, (_, at) => `k${at}=${'%41'.repeat(300)}`).join('&')),
  },
  graphcms: { type: 'application/json', body: Buffer.from('"'.repeat(MEBIBYTE)) },
}

/** A form with as many parts as fit. */
export const parts = (boundary: string): Buffer =>
  Buffer.from(
    `${upTo(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n`, 10 * MEBIBYTE - 100)}--${boundary}--\r\n`,
  )

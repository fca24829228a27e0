import { refuse } from '#pki/pki-error.ts'

export interface PemBlock {
  readonly label: string
  readonly der: Buffer
}

const DEFAULT_LIMIT = 64 * 1024
const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9 ]+)-----$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * The blocks of a PEM text, in order. Text outside of blocks is skipped, as OpenSSL does, because `openssl x509 -text`
 * and certificate bundles put comments there.
 */
export function readPem(text: string, limit = DEFAULT_LIMIT): PemBlock[] {
  if (Buffer.byteLength(text) > limit) refuse('too_big', `The PEM text is longer than ${limit} bytes.`)
  if (text.trim() === '') refuse('empty', 'The PEM text is empty.')
  const blocks: PemBlock[] = []
  let open: { label: string; lines: string[] } | undefined
  for (const raw of text.split('\n')) {
    const line = raw.trimEnd()
    const [, edge, label] = BOUNDARY.exec(line) ?? []
    if (edge === undefined || label === undefined) {
      if (line.startsWith('-----'))
        refuse('not_pem', 'A line starts with dashes but is not a BEGIN or END line.')
      if (open) open.lines.push(body(line))
    } else if (edge === 'BEGIN') {
      if (open) refuse('not_pem', `The ${open.label} block has no END line.`)
      open = { label, lines: [] }
    } else {
      if (open?.label !== label)
        refuse('not_pem', `The END ${label} line has no BEGIN line of the same name.`)
      blocks.push({ label, der: decode(label, open.lines.join('')) })
      open = undefined
    }
  }
  if (open) refuse('not_pem', `The ${open.label} block has no END line.`)
  if (blocks.length === 0) refuse('not_pem', 'The text has no PEM block (-----BEGIN ...-----).')
  return blocks
}

export function writePem({ label, der }: PemBlock): string {
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** RFC 1421 headers mark an encrypted key in the old format. */
function body(line: string): string {
  if (!line.includes(':')) return line
  if (/^(Proc-Type:.*ENCRYPTED|DEK-Info:)/.test(line))
    refuse('encrypted_key', 'The private key is encrypted; remove its passphrase.')
  return refuse('pem_headers', 'A PEM block has header lines; remove them.')
}

function decode(label: string, base64: string): Buffer {
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) refuse('not_pem', `The ${label} block is not base64.`)
  return Buffer.from(base64, 'base64')
}

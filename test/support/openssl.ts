import { registerKey } from './secrets.ts'
import { runOrThrow } from './openssh.ts'
import { Folder } from './folder.ts'

/** The arguments of `openssl genpkey` for each kind of key. */
const KEYS = {
  'RSA 2048': ['RSA', 'rsa_keygen_bits:2048'],
  'RSA 3072': ['RSA', 'rsa_keygen_bits:3072'],
  'P-256': ['EC', 'ec_paramgen_curve:P-256'],
  'P-384': ['EC', 'ec_paramgen_curve:P-384'],
  'P-521': ['EC', 'ec_paramgen_curve:P-521'],
  Ed25519: ['ED25519'],
  'RSA 1024': ['RSA', 'rsa_keygen_bits:1024'],
  // With several primes it is made in a second.
  'RSA 4096': ['RSA', 'rsa_keygen_bits:4096', 'rsa_keygen_primes:4'],
  'RSA 4104': ['RSA', 'rsa_keygen_bits:4104', 'rsa_keygen_primes:4'],
  'RSA-PSS': ['RSA-PSS', 'rsa_keygen_bits:2048'],
  secp256k1: ['EC', 'ec_paramgen_curve:secp256k1'],
} as const

export type KeyName = keyof typeof KEYS

export interface Identity {
  readonly certificate: string
  readonly key: string
  readonly files: { readonly certificate: string; readonly key: string }
}

interface CertificateOptions {
  readonly name: string
  readonly key?: KeyName
  readonly subject?: string
  readonly issuer?: Identity
  readonly extensions?: readonly string[]
}

export const AUTHORITY = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']

/** Makes a key and its certificate with OpenSSL, self-signed unless an issuer is given. */
export async function issue(folder: Folder, wanted: CertificateOptions): Promise<Identity> {
  const {
    name,
    subject = `/CN=${name}`,
    issuer,
    extensions = ['basicConstraints=critical,CA:FALSE'],
  } = wanted
  const [algorithm, ...parameters] = KEYS[wanted.key ?? 'P-256']
  const files = { certificate: folder.file(`${name}.crt`), key: folder.file(`${name}.key`) }
  const options = parameters.flatMap(parameter => ['-pkeyopt', parameter])
  await runOrThrow('openssl', 'genpkey', '-quiet', '-algorithm', algorithm, ...options, '-out', files.key)
  const signer = issuer ? ['-CA', issuer.files.certificate, '-CAkey', issuer.files.key] : []
  const extra = extensions.flatMap(extension => ['-addext', extension])
  const request = ['req', '-x509', '-new', '-utf8', '-multivalue-rdn', '-subj', subject, '-days', '30']
  await runOrThrow('openssl', ...request, '-key', files.key, ...signer, ...extra, '-out', files.certificate)
  return {
    certificate: await folder.read(`${name}.crt`),
    key: registerKey(await folder.read(`${name}.key`)),
    files,
  }
}

/** What OpenSSL prints for the options given, without the indentation. */
export async function show({ files }: Identity, ...options: readonly string[]): Promise<string[]> {
  const text = await runOrThrow('openssl', 'x509', '-in', files.certificate, '-noout', ...options)
  return text.split('\n').map(line => line.trim())
}

/** A root, an intermediate, a leaf, and an unrelated certificate, in a temporary folder. */
export async function newCertificateChain() {
  const folder = new Folder()
  const root = await issue(folder, { name: 'root', key: 'RSA 2048', extensions: AUTHORITY })
  const middle = await issue(folder, { name: 'middle', issuer: root, extensions: AUTHORITY })
  const leaf = await issue(folder, { name: 'leaf', issuer: middle })
  const other = await issue(folder, { name: 'other' })
  return { folder, root, middle, leaf, other }
}

export type CertificateChain = Awaited<ReturnType<typeof newCertificateChain>>

export const pkiError = (code: string) => ({ name: 'PkiError', code })

/** Valid PEM around changed bytes. */
export const corruptedPem = (pem: string): string => pem.replace(/^M.{7}/m, 'MAAAAAAA')

import type { ResourceHooks } from '#api/resource-hooks.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { withPkiProblems } from '#api/pki-problems.ts'
import { deserialize } from '#api/records.ts'
import { checkReferences } from '#api/references.ts'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import { Secret } from '#base/secrets.ts'
import { references } from '#contract/body.ts'
import { sshCertificateAuthority as authorityKind } from '#contract/kinds/ssh.ts'
import { sshHostCertificate as hostKind, sshUserCertificate as userKind } from '#contract/kinds/ssh.ts'
import type { Stored } from '#contract/shape.ts'
import { newSshAuthority } from '#pki/ssh-authority.ts'
import { signSshCertificate } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import { encodeExtensions } from '#pki/ssh-options.ts'

const DAY_MS = 86_400_000
const DEFAULT_EXTENSIONS = { 'permit-pty': '', 'permit-user-rc': '' }

export const sshCertificateAuthority: ResourceHooks = {
  async prepare(draft) {
    if (draft.before) return
    const body = draft.as(authorityKind)
    const made = await withPkiProblems('private_key_type', () =>
      newSshAuthority({
        keyType: body.private_key_type,
        curve: body.elliptic_curve === '' ? undefined : body.elliptic_curve.replace(/^(nistp|p-?)/i, ''),
        bits: body.key_size || undefined,
      }),
    )
    body.public_key = made.publicKey
    body.key_type = made.keyType
    body.private_key = made.privateKeyPem.reveal()
  },
}

type Certificate = Stored<typeof hostKind.shape>

/** The CA key of a certificate. */
async function authorityKey(draft: Draft, call: Call): Promise<Secret> {
  await checkReferences(references(draft.kind.shape, draft.body), call)
  const row = await call.store.get(String(draft.body['ssh_certificate_authority_id']))
  if (!row) return fail('ssh_ca_missing', { field: 'ssh_certificate_authority_id', id: '' })
  return new Secret(String(deserialize(authorityKind, row, call)['private_key']))
}

/** Completes the common fields of both certificate kinds and returns what is to be signed. */
function settle(draft: Draft, defaultMs: number, call: Call) {
  const body = draft.body as unknown as Certificate
  const key = withPkiProblems('public_key', () => readSshPublicKey(body.public_key), {
    unsupported_key: 'ssh_key_unsupported',
  })
  body.public_key = key.line
  body.key_type = key.keyType
  const from = body.valid_after === '' ? call.now() : Date.parse(body.valid_after)
  const until = body.valid_until === '' ? from + defaultMs : Date.parse(body.valid_until)
  body.valid_after = timestamp(from)
  body.valid_until = timestamp(until)
  return {
    publicKey: key.line,
    keyId: draft.id,
    principals: body.principals,
    validAfter: new Date(body.valid_after),
    validUntil: new Date(body.valid_until),
  }
}

export const sshUserCertificate: ResourceHooks = {
  async prepare(draft, call) {
    if (draft.before) return
    const body = draft.as(userKind)
    const authority = await authorityKey(draft, call)
    const extensions = (body.extensions ??= { ...DEFAULT_EXTENSIONS })
    withPkiProblems('extensions', () => encodeExtensions(extensions))
    const request = {
      ...settle(draft, DAY_MS, call),
      type: 'user' as const,
      criticalOptions: body.critical_options,
      extensions,
    }
    body.certificate = await withPkiProblems('critical_options', () => signSshCertificate(request, authority))
  },
}

export const sshHostCertificate: ResourceHooks = {
  async prepare(draft, call) {
    if (draft.before) return
    const body = draft.as(hostKind)
    const authority = await authorityKey(draft, call)
    const request = { ...settle(draft, 365 * DAY_MS, call), type: 'host' as const }
    body.certificate = await withPkiProblems('principals', () => signSshCertificate(request, authority))
  },
}

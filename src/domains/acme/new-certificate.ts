import type { NewCertificate } from '#acme/domains.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { Draft } from '#api/draft.ts'
import { eventOf } from '#api/events.ts'
import { serialize } from '#api/row-text.ts'
import { newId, timestamp } from '#base/ids.ts'
import { decode, type ResourceBody } from '#contract/body.ts'
import { tlsCertificate as kind } from '#contract/kinds/tls-certificate.ts'
import type { Write } from '#store/store.ts'

/** An issued certificate as a resource, as if it had been uploaded. */
export async function certificateWrites(
  { chainPem, keyPem }: NewCertificate,
  { domain, owner }: { readonly domain: string; readonly owner: string },
  call: Call,
): Promise<{ readonly id: string; readonly writes: Write[] }> {
  const id = newId(kind.prefix ?? '', call.now())
  const given: ResourceBody = {
    certificate_pem: chainPem,
    private_key_pem: keyPem.reveal(),
    description: `Issued for ${domain}.`.slice(0, 255),
    owner_id: owner,
  }
  const time = timestamp(call.now())
  const draft = new Draft({ kind, id, body: { ...decode(kind.shape, given), id, created_at: time }, given })
  await hooksOf(kind).prepare?.(draft, call)
  const body = { ...draft.body, issued_at: time }
  const row = { id, kind: kind.name, parent: null, version: 1, body: serialize(kind, id, body, call) }
  const writes: Write[] = [
    { op: 'insert', entry: { row, refs: [...draft.holds], claims: draft.claims } },
    ...(await eventOf(kind, body, 'created', call)),
  ]
  return { id, writes }
}

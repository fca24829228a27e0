import { kinds } from '#contract/kinds/index.ts'
import { exampleId, examplePem, examples } from '#reference/examples.ts'
import { createResource } from './each-store.ts'
import { AUTHORITY, issue } from './openssl.ts'
import type { Answer, Caller } from './server.ts'
import { Folder } from './folder.ts'

const MADE_UP = exampleId('')

/**
 * Makes the example of every collection that has one, with `more` of it, and returns them by collection. A path's
 * parameter and a made-up id name the resource that was made before.
 */
export async function createExamples(
  api: Caller,
  more: (collection: string) => object = () => ({}),
): Promise<ReadonlyMap<string, Answer['body']>> {
  using folder = new Folder()
  const { certificate, key } = await issue(folder, { name: 'example', extensions: AUTHORITY })
  await createResource(api, '/reserved_domains', { domain: '*.example.com' })
  const resources = new Map<string, Answer['body']>()
  const ids = new Map<string, string>()
  const real = (text: string): string => {
    let result = text
    for (const [madeUp, id] of ids) result = result.replace(new RegExp(`\\b${madeUp}`, 'g'), id)
    return result
  }
  for (let waiting = Object.entries(examples); waiting.length > 0;) {
    const postponed: typeof waiting = []
    for (const [collection, example] of waiting) {
      const kind = kinds[collection as keyof typeof kinds]
      const parent = kind.parent && exampleId(kindNamed(kind.parent.kind))
      const path = real(kind.path.replace(/\{\w+\}/, parent ?? ''))
      const body = real(JSON.stringify({ ...example, ...more(collection) }))
        .replace(JSON.stringify(examplePem.certificate), () => JSON.stringify(certificate))
        .replace(JSON.stringify(examplePem.key), () => JSON.stringify(key))
      if ((path + body).includes(MADE_UP)) {
        postponed.push([collection, example])
        continue
      }
      const resource = await createResource(api, path, body)
      resources.set(collection, resource)
      if (kind.prefix !== undefined) ids.set(exampleId(kind.prefix), resource.id)
    }
    if (postponed.length === waiting.length) throw new Error(`nothing makes what ${postponed[0]?.[0]} needs`)
    waiting = postponed
  }
  return resources
}

const kindNamed = (name: string): string =>
  Object.values(kinds).find(kind => kind.name === name)?.prefix ?? name

import type { Kind } from '#contract/kind.ts'
import { kinds, type Collection } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import { href } from '#ui/dashboard/router.ts'

export interface Section {
  readonly title: string
  readonly collections: readonly Collection[]
  /** Pages besides those of the collections. */
  readonly pages?: readonly NavPage[]
}

interface NavPage {
  readonly title: string
  readonly path: readonly string[]
  readonly isAdminOnly?: true
  /** The page of its section, which is opened first. */
  readonly isFirst?: true
}

const arranged: readonly Section[] = [
  { title: 'Overview', collections: [], pages: [{ title: 'Overview', path: [] }] },
  {
    title: 'Traffic',
    collections: ['requests', 'captures'],
    pages: [{ title: 'Traffic', path: ['requests'] }],
  },
  { title: 'Endpoints', collections: ['endpoints', 'tunnels'] },
  {
    title: 'Domains',
    collections: [
      'reserved_domains',
      'reserved_addrs',
      'agent_ingresses',
      'tls_certificates',
      'certificate_authorities',
      'dns_zones',
    ],
  },
  {
    title: 'Agents',
    collections: ['tunnel_sessions', 'credentials', 'ssh_credentials'],
    pages: [
      { title: 'Connected agents', path: ['tunnel_sessions'] },
      { title: 'Connect an agent', path: ['connect'] },
    ],
  },
  {
    title: 'Edges',
    pages: [{ title: 'Which route matches?', path: ['explain'] }],
    collections: [
      'https_edges',
      'tls_edges',
      'tcp_edges',
      'endpoint_configurations',
      'tunnel_group_backends',
      'static_backends',
      'weighted_backends',
      'failover_backends',
      'http_response_backends',
    ],
  },
  {
    title: 'Access',
    collections: [
      'ip_policies',
      'ip_policy_rules',
      'ip_restrictions',
      'application_users',
      'application_sessions',
      'ssh_certificate_authorities',
      'ssh_user_certificates',
      'ssh_host_certificates',
    ],
  },
  {
    title: 'Events',
    collections: ['event_subscriptions', 'event_destinations', 'event_deliveries', 'audit_events'],
  },
  {
    title: 'People and keys',
    pages: [{ title: 'People', path: ['people'], isAdminOnly: true, isFirst: true }],
    collections: ['users', 'bot_users', 'service_users', 'api_keys', 'dashboard_sessions', 'passkeys'],
  },
  {
    title: 'Server',
    collections: [],
    pages: [
      { title: 'Status', path: ['status'] },
      { title: 'Nodes', path: ['nodes'], isAdminOnly: true },
      { title: 'Usage', path: ['usage'] },
      { title: 'Settings', path: ['settings'], isAdminOnly: true },
      { title: 'Licences', path: ['licences'] },
    ],
  },
]

const kindOf = (name: Collection): Kind => kinds[name]

/** Children in the path of their parent are listed at its page. */
const isChild = ({ parent }: Kind): boolean => parent !== undefined

const known = new Set<string>(
  arranged.flatMap(({ collections, pages = [] }) => [...collections, ...pages.flatMap(({ path }) => path)]),
)
const others = (Object.keys(kinds) as Collection[]).filter(name => !known.has(name) && !isChild(kinds[name]))

/** The navigation. A kind that no section names is in the last one. */
export const sections: readonly Section[] = [
  ...arranged,
  ...(others.length > 0 ? [{ title: 'More', collections: others }] : []),
]

/** The pages of a section that the user may open, in order: the list of each collection, and then its own. */
export function pagesOf({ pages = [], collections }: Section, isForAdmin: boolean): readonly NavPage[] {
  const own = pages.filter(({ isAdminOnly }) => isForAdmin || !isAdminOnly)
  const ownOf = (name: string): NavPage | undefined => own.find(({ path }) => path[0] === name)
  const isListed = ({ path }: NavPage): boolean => collections.some(name => name === path[0])
  return [
    ...own.filter(({ isFirst }) => isFirst),
    ...collections
      .filter(name => isForAdmin || !kindOf(name).adminOnly)
      .map(name => ownOf(name) ?? { title: titleOf(name), path: [name] }),
    ...own.filter(page => !page.isFirst && !isListed(page)),
  ]
}

/** The title of the list of a collection. */
export const listTitle = (collection: Collection): string =>
  arranged.flatMap(({ pages = [] }) => pages).find(({ path }) => path[0] === collection)?.title ??
  titleOf(collection)

/** Where pages belong that no section lists: those of children to the list of their parent. */
function listedAs(name: string): string {
  if (name === 'protect') return 'endpoints'
  const { parent }: Partial<Kind> = (kinds as Readonly<Record<string, Kind>>)[name] ?? {}
  return (Object.keys(kinds) as Collection[]).find(each => kinds[each].name === parent?.kind) ?? name
}

export const sectionOf = (path: readonly string[]): Section | undefined =>
  path.length === 0
    ? sections[0]
    : sections.find(
        ({ collections, pages = [] }) =>
          collections.some(name => name === listedAs(path[0] ?? '')) ||
          pages.some(page => page.path.length > 0 && page.path[0] === path[0]),
      )

export const hrefOf = ({ path }: NavPage): string => (path.length === 0 ? '/' : href(path))

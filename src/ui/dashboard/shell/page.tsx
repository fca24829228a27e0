import type { ComponentType, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { ConnectPage } from '#ui/dashboard/agents/connect.tsx'
import { isCollection } from '#ui/dashboard/kinds/resource.ts'
import { OverviewPage } from '#ui/dashboard/overview/overview-page.tsx'
import { go, isSignInPath, place } from '#ui/dashboard/router.ts'
import { lazy } from '#ui/dashboard/shell/lazy.tsx'
import { PageHead } from '#ui/dashboard/shell/parts.tsx'

const TrafficPage = lazy(async () => (await import('#ui/dashboard/traffic/traffic-page.tsx')).TrafficPage)
const RequestPage = lazy(async () => (await import('#ui/dashboard/traffic/request-page.tsx')).RequestPage)
const ListPage = lazy(async () => (await import('#ui/dashboard/kinds/list-page.tsx')).ListPage)
const DetailPage = lazy(async () => (await import('#ui/dashboard/kinds/detail-page.tsx')).DetailPage)
const CreatePage = lazy(async () => (await import('#ui/dashboard/kinds/form-page.tsx')).CreatePage)
const EdgePage = lazy(async () => (await import('#ui/dashboard/edges/edge-page.tsx')).EdgePage)
const ExplainPage = lazy(async () => (await import('#ui/dashboard/edges/explain.tsx')).ExplainPage)
const DomainPage = lazy(async () => (await import('#ui/dashboard/domains/domain-page.tsx')).DomainPage)
const EndpointPage = lazy(
  async () => (await import('#ui/dashboard/endpoints/endpoint-page.tsx')).EndpointPage,
)
const ProtectPage = lazy(async () => (await import('#ui/dashboard/access/protect-page.tsx')).ProtectPage)
const PasswordPage = lazy(async () => (await import('#ui/dashboard/access/password-page.tsx')).PasswordPage)
const PeoplePage = lazy(async () => (await import('#ui/dashboard/access/people-page.tsx')).PeoplePage)
const UsagePage = lazy(async () => (await import('#ui/dashboard/server/usage-page.tsx')).UsagePage)
const LicencesPage = lazy(async () => (await import('#ui/dashboard/server/licences-page.tsx')).LicencesPage)
const SettingsPage = lazy(async () => (await import('#ui/dashboard/server/settings-page.tsx')).SettingsPage)
const StatusPage = lazy(async () => (await import('#ui/dashboard/server/status-page.tsx')).StatusPage)
const DeliveriesPage = lazy(
  async () => (await import('#ui/dashboard/events/deliveries-page.tsx')).DeliveriesPage,
)
const AuditPage = lazy(async () => (await import('#ui/dashboard/events/audit-page.tsx')).AuditPage)
const CapturesPage = lazy(async () => (await import('#ui/dashboard/capture/captures-page.tsx')).CapturesPage)
const EditPage = lazy(async () => (await import('#ui/dashboard/kinds/form-page.tsx')).EditPage)

/** Pages that are not of a resource. */
const single: Readonly<Record<string, ComponentType>> = {
  connect: ConnectPage,
  explain: ExplainPage,
  licences: LicencesPage,
  password: PasswordPage,
  people: PeoplePage,
  protect: ProtectPage,
  settings: SettingsPage,
  status: StatusPage,
  usage: UsagePage,
}

/** Pages of resources for which the generic one is worse. */
const own: Readonly<Record<string, ComponentType<{ id: string }>>> = {
  audit_events: AuditPage,
  endpoints: EndpointPage,
  https_edges: EdgePage,
  reserved_domains: DomainPage,
}

/** The page that the path names. */
export function Page(): JSX.Element {
  const { path, query } = place.value
  const [first = '', second, third] = path
  if (isSignInPath(path)) return <Redirect to="/" />
  if (path.length === 0) return <OverviewPage />
  const Single = single[first]
  if (Single) return <Single />
  if (!isCollection(first)) return <NotFound />
  if (first === 'requests')
    return second === undefined ? <TrafficPage /> : <RequestPage key={second} id={second} />
  if (first === 'event_deliveries' && second === undefined) return <DeliveriesPage />
  if (first === 'captures' && second === undefined) return <CapturesPage />
  if (second === undefined) return <ListPage key={first} collection={first} />
  if (second === 'new') return <CreatePage key={`${first} ${query}`} collection={first} />
  const at = { collection: first, id: second, parent: query.get('parent') ?? undefined }
  const key = `${first} ${second}`
  if (third === 'edit') return <EditPage key={key} {...at} />
  if (third !== undefined) return <NotFound />
  const Own = own[first]
  return Own ? <Own key={key} id={second} /> : <DetailPage key={key} {...at} />
}

function Redirect({ to }: { to: string }): null {
  useEffect(() => go(to, 'replace'), [to])
  return null
}

const NotFound = (): JSX.Element => (
  <>
    <PageHead title="There is no such page" />
    <p>
      Choose a section, or go to the <a href="/">overview</a>.
    </p>
  </>
)

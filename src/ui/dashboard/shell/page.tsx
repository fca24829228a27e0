import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { ConnectPage } from '#ui/dashboard/agents/connect.tsx'
import { DetailPage } from '#ui/dashboard/kinds/detail-page.tsx'
import { CreatePage, EditPage } from '#ui/dashboard/kinds/form-page.tsx'
import { ListPage } from '#ui/dashboard/kinds/list-page.tsx'
import { isCollection } from '#ui/dashboard/kinds/resource.ts'
import { OverviewPage } from '#ui/dashboard/overview/overview-page.tsx'
import { go, place } from '#ui/dashboard/router.ts'
import { RequestPage } from '#ui/dashboard/traffic/request-page.tsx'
import { TrafficPage } from '#ui/dashboard/traffic/traffic-page.tsx'
import { PageHead } from '#ui/dashboard/shell/parts.tsx'

/** The page that the path names. */
export function Page(): JSX.Element {
  const { path, query } = place.value
  const [first = '', second, third] = path
  if (first === 'login') return <Redirect to="/" />
  if (path.length === 0) return <OverviewPage />
  if (first === 'connect') return <ConnectPage />
  if (!isCollection(first)) return <NotFound />
  if (first === 'requests')
    return second === undefined ? <TrafficPage /> : <RequestPage key={second} id={second} />
  if (second === undefined) return <ListPage key={first} collection={first} />
  if (second === 'new') return <CreatePage key={`${first} ${query}`} collection={first} />
  const at = { collection: first, id: second, parent: query.get('parent') ?? undefined }
  const key = `${first} ${second}`
  if (third === 'edit') return <EditPage key={key} {...at} />
  return third === undefined ? <DetailPage key={key} {...at} /> : <NotFound />
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

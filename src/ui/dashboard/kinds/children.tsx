import type { JSX } from 'preact'
import type { Page as ApiPage } from '#client/types.ts'
import type { Kind } from '#contract/kind.ts'
import { childrenOf } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import { call } from '#ui/dashboard/api.ts'
import { collectionOfKind, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { ResourceTable } from '#ui/dashboard/kinds/table.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

/** The lists of the kinds that belong to a resource. */
export const Children = ({ kind, id }: { kind: Kind; id: string }): JSX.Element => (
  <>
    {childrenOf(kind.name).map(child => (
      <ChildList key={child.name} child={child} id={id} />
    ))}
  </>
)

/** A filter of the children that name their parent in a field. */
function filterFor({ belongsTo, shape }: Kind, id: string): { filter: string } | undefined {
  if (!belongsTo) return undefined
  const path = shape[belongsTo.field]?.expand ? `${belongsTo.field}.id` : belongsTo.field
  return { filter: `obj.${path} == ${JSON.stringify(id)}` }
}

function ChildList({ child, id }: { child: Kind; id: string }): JSX.Element | null {
  const collection = collectionOfKind(child.name)
  const loaded = useLoaded(
    `${child.name} of ${id}`,
    async () => {
      const args = child.parent ? [id] : [filterFor(child, id)]
      return (await call(collection ?? '', 'list', ...args)) as ApiPage<Resource>
    },
    { on: ({ kind, id: changed }) => kind === child.name || changed === id },
  )
  if (!collection) return null
  const written = child.belongsTo && (child.shape[child.belongsTo.field]?.as ?? child.belongsTo.field)
  const query = child.parent ? { parent: id } : { [written ?? '']: id }
  return (
    <section class="children" aria-label={titleOf(collection)}>
      <div class="page-head">
        <h2>{titleOf(collection)}</h2>
        {child.verbs.includes('create') && (
          <a class="button" href={href([collection, 'new'], query)}>
            Add
          </a>
        )}
      </div>
      <Shown of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">None.</p>
          ) : (
            <ResourceTable
              collection={collection}
              items={items}
              without={child.belongsTo?.field}
              {...(child.parent && { parent: id })}
            />
          )
        }
      </Shown>
    </section>
  )
}

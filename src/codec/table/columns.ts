import tables from '../../api/tables/tables.json';

/** metav1.TableColumnDefinition. */
export interface Column {
  [key: string]: string | number;
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'What the object is called; no two of a kind share a name within a namespace.',
  priority: 0,
};

export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  format: '',
  description: 'How long ago the server created the object, by its creation timestamp.',
  priority: 0,
};

const documented: ReadonlyMap<string, string> = new Map(
  [nameColumn, ageColumn].map((column) => [column.name, column.description]),
);

type Fact = Omit<Column, 'description'>;

const builtinColumns: ReadonlyMap<string, Column[]> = new Map(
  Object.entries(tables as unknown as Record<string, Fact[]>).map(([key, columns]) => [
    key,
    columns.map(({ name, type, format, priority }) => ({
      name: name as string,
      type: type as string,
      format: format as string,
      description: documented.get(name as string) ?? '',
      priority: priority as number,
    })),
  ]),
);

/** Columns of resources that have no printer of their own. */
export const defaultColumns: Column[] = [
  nameColumn,
  { ...ageColumn, name: 'Created At', type: 'date', description: 'When the server created the object.' },
];

/** Columns of a Scale subresource of a built-in resource. */
export const scaleColumns: Column[] = [
  { ...nameColumn, format: '' },
  { name: 'Desired', type: 'integer', format: '', description: 'Replicas asked for.', priority: 0 },
  { name: 'Available', type: 'integer', format: '', description: 'Replicas that there are.', priority: 0 },
  ageColumn,
];

/** Columns of a built-in resource. */
export const columnsOf = (groupVersion: string, resource: string): Column[] =>
  builtinColumns.get(`${groupVersion} ${resource}`) ?? defaultColumns;

import { forbidden } from '../status/status.ts';
import { type Plugin, subjectOf } from './chain.ts';

/** Says yes to everything, as no plugin would. */
export const alwaysAdmit: Plugin = { name: 'AlwaysAdmit', operations: [] };

/** Says no to everything. */
export const alwaysDeny: Plugin = {
  name: 'AlwaysDeny',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  admit: (attributes) => {
    throw forbidden(subjectOf(attributes), attributes.name, 'admission control is denying all modifications');
  },
};

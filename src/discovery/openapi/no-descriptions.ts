/** Stands in for the descriptions where the project was not built: there are none. */
const none = '';
export default none;

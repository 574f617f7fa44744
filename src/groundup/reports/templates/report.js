for(const table of document.querySelectorAll("table")){
 const body=table.tBodies[0],order=new Intl.Collator(undefined,{numeric:true});
 table.querySelectorAll("th button").forEach((button,column)=>button.addEventListener("click",()=>{
  const head=button.parentElement,down=head.getAttribute("aria-sort")==="ascending";
  table.querySelectorAll("th").forEach(other=>other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort",down?"descending":"ascending");
  const rows=[...body.rows].sort((a,b)=>order.compare(a.cells[column].textContent,b.cells[column].textContent));
  body.append(...(down?rows.reverse():rows));}));
 const field=document.querySelector(`input[data-for="${table.id}"]`);
 if(field)field.addEventListener("input",()=>{const wanted=field.value.toLowerCase();
  for(const row of body.rows)row.hidden=!row.textContent.toLowerCase().includes(wanted);});
}
